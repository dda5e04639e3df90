"""Cli: the operator's commands, run against one broker."""

import json
import subprocess

from .broker import base_environment, binary


class Ended:
    """How a command ended: its exit code and what it printed."""

    def __init__(self, code, out, err):
        self.code = code
        self.out = out
        self.err = err

    def json(self):
        """What it printed, parsed."""
        return json.loads(self.out)

    def lines(self):
        """What it printed as JSON lines, parsed."""
        return [json.loads(line) for line in self.out.splitlines()]

    def rows(self):
        """A table as lists of cells, without its titles. Cells are apart by two spaces or more."""
        return [[cell.strip() for cell in line.split("  ") if cell.strip()] for line in self.out.splitlines()[1:]]

    def __repr__(self):
        return f"<{self.code}\n{self.out}\n{self.err}>"


def run_cli(*words, url=None, stdin=None, timeout=60, env=None):
    """Runs `queen words...` to its end. `stdin` is a text; without one it is empty."""
    environment = base_environment() | ({"QUEEN_URL": url} if url else {}) | (env or {})
    ended = subprocess.run([binary(), *map(str, words)], input=stdin or "", capture_output=True, text=True,
                           timeout=timeout, check=False, env=environment)
    return Ended(ended.returncode, ended.stdout, ended.stderr)


class Cli:
    """cli("pop", "orders") -> Ended, with the exit code checked."""

    def __init__(self, url):
        self.url = url

    def __call__(self, *words, code=0, **options):
        ended = run_cli(*words, url=self.url, **options)
        assert ended.code == code, f"queen {' '.join(map(str, words))}: {ended}"
        return ended
