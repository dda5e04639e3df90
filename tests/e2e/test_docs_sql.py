"""The commands of docs/sql.md, as written: on the broker's own cluster and on a server of somebody else."""

import os
import re
import shlex
import subprocess

from support.banner import read_banner
from support.broker import REPOSITORY


def commands():
    """Every SQL block of the page, in order."""
    with open(os.path.join(REPOSITORY, "docs", "sql.md"), encoding="utf-8") as page:
        return "\n".join(re.findall(r"^```sql\n(.*?)^```$", page.read(), re.MULTILINE | re.DOTALL))


def feed(psql, sql):
    """Types `sql` into the psql that the shell line opens; returns what it printed."""
    done = subprocess.run(["/bin/sh", "-c", psql], input="\\set ON_ERROR_STOP on\n" + sql, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60,
                          env={"PATH": os.environ["PATH"], "PSQLRC": "/dev/null"})
    assert done.returncode == 0, done.stdout
    return done.stdout


def assert_page_works(broker, psql):
    feed(psql, commands())
    popped = broker.get("/api/v1/pop/queue/shop.orders?batch=10&autoAck=true&wait=true&timeout=10000")
    assert [message["data"]["state"] for message in popped.json()["messages"]] == ["paid", "shipped"]
    mine = feed(psql, "SELECT relname FROM pg_class WHERE relnamespace = 'queen'::regnamespace;")
    assert "orders" not in mine, "a table of the page among Queen's own"


def test_on_the_brokers_own_cluster(make_broker):
    broker = make_broker().start()
    assert_page_works(broker, read_banner(broker)["psql"])


def test_on_a_server_of_somebody_else(make_broker, postgres):
    broker = make_broker(env={"DATABASE_URL": postgres.url}).start()
    psql = shlex.join(["psql", "-h", postgres.directory, "-p", str(postgres.port), "-U", "postgres",
                       "queen"])
    assert_page_works(broker, psql)
