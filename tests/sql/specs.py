"""The isolation specs of sql/tests/isolation: run by PostgreSQL's isolationtester, compared with
expected/*.out."""
import difflib
import glob
import os
import subprocess
import sys

from database import TESTS

SPECS = os.path.join(TESTS, 'isolation')


def names():
    """Every spec, without its suffix."""
    return [f[:-5] for f in sorted(os.listdir(SPECS)) if f.endswith('.spec')]


def tester():
    """The program that steps through a spec."""
    found = sorted(glob.glob('/usr/lib/postgresql/*/lib/pgxs/src/test/isolation/isolationtester'))
    if not found:
        sys.exit('isolationtester is missing; it is in the package postgresql-client (see scripts/setup)')
    return found[-1]


def run(database, spec, accept=False):
    """Steps through a spec in a database that has the schema and the helpers of the tests; returns how it
    differs from what is expected, line by line, or nothing. `accept` writes what came out as expected."""
    with open(os.path.join(SPECS, spec + '.spec'), encoding='utf-8') as source:
        result = subprocess.run([tester(), database.url], stdin=source, text=True, timeout=120,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    expected_file = os.path.join(SPECS, 'expected', spec + '.out')
    if accept:
        with open(expected_file, 'w', encoding='utf-8') as expected:
            expected.write(result.stdout)
    expected = open(expected_file, encoding='utf-8').read() if os.path.exists(expected_file) else ''
    if result.returncode == 0 and result.stdout == expected:
        return []
    difference = difflib.unified_diff(expected.splitlines(), result.stdout.splitlines(), 'expected', 'came out', lineterm='')
    return list(difference) + result.stderr.splitlines() + [f'exit code {result.returncode}']
