"""Every command of README.md and docs/, as written, against a broker with a cluster of its own.

docs/page.py lists the marks that a page may give a block. A failure names the page and the line.
"""

import glob
import json
import os
import subprocess
import tempfile
import urllib.parse
import warnings

import pytest

from docs.expected import same
from docs.page import blocks
from docs.session import Failed, Session
from support.broker import REPOSITORY, Broker

PAGES = ["README.md"] + sorted(os.path.relpath(path, REPOSITORY)
                               for path in glob.glob(os.path.join(REPOSITORY, "docs", "*.md")))
RUN = ("sh", "bash", "sql")


@pytest.fixture(scope="module")
def broker():
    """One for all pages."""
    made = Broker()
    try:
        yield made.start()
    finally:
        made.close()


@pytest.fixture
def session(broker):
    """A reader who begins a page, on a broker without queues."""
    made = Session(broker)
    for name in made.sql("\\pset format unaligned\n\\t\nSELECT name FROM queen.queues").split():
        broker.request("DELETE", f"/api/v1/resources/queues/{urllib.parse.quote(name, safe='')}")
    made.sql("\\pset format aligned\n\\t")
    yield made
    for switch in ("maintenance", "maintenance/pop"):
        broker.post(f"/api/v1/system/{switch}", {"enabled": False})
    made.close()


def why_out_of_reach(command):
    """Why a command that asks whether something is there does not succeed, or None."""
    with tempfile.TemporaryDirectory() as directory:
        try:
            ended = subprocess.run(command, shell=True, cwd=directory, capture_output=True, text=True, timeout=60,
                                   check=False)
        except subprocess.TimeoutExpired:
            return f"{command}: no answer within a minute"
    lines = ended.stderr.strip().splitlines() or ["it failed"]
    return f"{command}: {lines[0]}" if ended.returncode else None


def follow(session, block, printed):
    """Does what a reader does with a block; returns what it printed."""
    if "not run" in block.marks:
        return None
    if "needs" in block.marks and (reason := why_out_of_reach(block.marks["needs"])):
        warnings.warn(f"left out: {reason}")  # pytest shows it also when all is well
        return None
    if "file" in block.marks:
        session.write(block.marks["file"], block.text)
    elif "output" in block.marks:
        if printed is not None and not same(block.language, session.here(block.text), printed):
            raise Failed(f"the page shows\n{block.text}but it printed\n{printed}")
    elif block.language == "sql":
        return session.sql(block.text)
    elif block.language in RUN:
        return session.shell(block.text, "fails" in block.marks)
    elif block.language == "json":
        json.loads(block.text)
    return None


@pytest.mark.parametrize("page", PAGES)
def test_page(session, page):
    with open(os.path.join(REPOSITORY, page), encoding="utf-8") as file:
        text = file.read()
    printed = None
    for block in blocks(text, page):
        try:
            printed = follow(session, block, printed)
        except (Failed, ValueError) as failure:
            pytest.fail(f"{page}:{block.line}: {failure}", pytrace=False)
