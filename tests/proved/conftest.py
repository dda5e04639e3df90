import os
import sys

import pytest

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [TESTS, os.path.join(TESTS, 'sql'), os.path.join(TESTS, 'proved')]

from support.fixtures import closing, directory, make_broker, make_postgres, make_proxy, postgres  # noqa: E402,F401
from support.postgres import Postgres  # noqa: E402


@pytest.fixture(scope='module')
def sql_server():
    """A server for the databases of tests/sql/database.py."""
    server = Postgres()
    server.start()
    os.environ['QUEEN_TEST_DATABASE_URL'] = f'postgresql://postgres@/postgres?host={server.directory}&port={server.port}'
    yield server
    del os.environ['QUEEN_TEST_DATABASE_URL']
    server.close()
