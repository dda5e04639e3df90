"""PsqlSession: one psql that stays, for transactions that a test steps through."""

import os
import subprocess


class PsqlSession:
    """Connects to a support.Postgres; `run` returns what its SQL prints, when it has ended.

    `form` are the flags of psql for what it prints: bare values, unless told otherwise.
    """

    def __init__(self, postgres, form="-XAtq"):
        self._process = subprocess.Popen(
            [os.path.join(postgres.bin, "psql"), form, "-v", "ON_ERROR_STOP=1", "-h", postgres.directory,
             "-p", str(postgres.port), "-U", "queen", "-d", "queen"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self._runs = 0

    def run(self, sql):
        self._runs += 1
        end = f"end of run {self._runs}"
        self._process.stdin.write(f"{sql}\n;\n\\echo {end}\n")
        self._process.stdin.flush()
        lines = []
        while (line := self._process.stdout.readline()).strip() != end:
            assert line, f"psql ended: {lines}"
            lines.append(line.rstrip("\n"))
        return "\n".join(lines)

    def close(self):
        """Ends it; what is not committed is rolled back."""
        self._process.stdin.close()
        self._process.wait(30)
        self._process.stdout.close()
