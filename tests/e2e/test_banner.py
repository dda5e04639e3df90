"""What a person sees who starts a broker: one banner whose lines work as they stand, and one line at the end."""

import json
import os
import signal

import pytest

from support.banner import read_banner
from support.broker import Broker
from support.postgres import PASSWORD
from support.process import run, wait_until


def shell(line, env=None):
    """Runs a line as a person would."""
    return run(["/bin/sh", "-c", line], env={"PATH": os.environ["PATH"], **(env or {})})[1]


@pytest.fixture(scope="module")
def embedded():
    """A broker with its own cluster, in a directory whose name a shell would take apart."""
    broker = Broker()
    broker.data_dir = os.path.join(broker.directory, "Queen's data")
    yield broker.start()
    broker.close()


def test_one_banner_and_nothing_before_it(embedded):
    banner = read_banner(embedded)
    assert banner["before"] == ""
    assert banner["url"] == f"http://localhost:{embedded.port}"
    assert embedded.data_dir in banner["data"]
    assert banner["after"]() == ""


def test_the_lines_to_try_work_as_written(embedded):
    banner = read_banner(embedded)
    assert json.loads(shell(banner["push"].replace("curl", "curl -s", 1)))[0]["status"] == "queued"
    rows = shell(f"echo 'SELECT queue, payload FROM queen.messages' | {banner['psql']}")
    assert "Hello, Queen" in rows
    popped = json.loads(shell(banner["pop"].replace("curl", "curl -s", 1)))
    assert popped["messages"][0]["data"] == {"text": "Hello, Queen"}


def test_another_database_is_named_without_its_password(make_broker, postgres):
    broker = make_broker(env={"DATABASE_URL": postgres.url}).start()
    banner = read_banner(broker)
    assert banner["before"] == ""
    assert f"queen@{postgres.host}:{postgres.port}/queen" in banner["data"]
    assert PASSWORD not in broker.log()
    answer = shell(f"echo 'SELECT count(*) FROM queen.queues' | {banner['psql']}",
                   {"PGPASSWORD": PASSWORD})
    assert "(1 row)" in answer
    assert broker.stop(signal.SIGINT) == 0
    assert banner["after"]() == f"Queen has stopped. The data stays in {banner['data']}.\n"


def test_what_happens_is_told_to_who_debugs(make_broker, postgres):
    broker = make_broker(env={"DATABASE_URL": postgres.url, "LOG_LEVEL": "debug"}).start()
    assert "schema ready" in read_banner(broker)["before"]


def test_programs_get_lines_instead(make_broker, postgres):
    broker = make_broker(env={"DATABASE_URL": postgres.url, "LOG_FORMAT": "json"}).start()
    wait_until(lambda: '"message":"ready"' in broker.log(), what="the line")
    assert broker.stop() == 0
    messages = [json.loads(line)["message"] for line in broker.log().splitlines()]
    assert messages == ["listening", "schema ready", "ready", "shutting down", "stopped"]
