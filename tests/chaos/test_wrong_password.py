"""PostgreSQL refuses the broker's password: said at once and again, in plain words, in the log and in /health."""

from chaos.test_file_buffer import buffered, item, numbers, take_all
from support.process import wait_until

PROBLEM = "PostgreSQL refuses the password of the broker's role"


def said(broker):
    """How often the log has the problem, with what to check."""
    return len([line for line in broker.log().splitlines() if PROBLEM in line and "PG_PASSWORD" in line])


def assert_told(broker):
    wait_until(lambda: said(broker) >= 1, 10, "the reason in the log")
    health = broker.get("/health")
    assert health.status == 503
    assert health.json()["error"].startswith(PROBLEM)
    assert health.json()["code"] == "database_unavailable"
    assert broker.get("/readyz").json()["error"].startswith(PROBLEM)
    wait_until(lambda: said(broker) >= 2, 30, "the reason to be said again")


def test_at_the_start(make_broker, postgres):
    broker = make_broker(env={**postgres.env(), "PG_PASSWORD": "not the secret"}).start(until="live")
    assert_told(broker)
    buffered(broker, [item("a", 1)])
    assert "not the secret" not in broker.log()
    postgres.psql("ALTER ROLE queen PASSWORD 'not the secret'", role="postgres")
    broker.wait_for("/readyz", 200)
    assert numbers(take_all(broker, 1)) == {"a": [1]}
    assert broker.get("/health").status == 200


def test_after_it_was_changed(make_broker, postgres):
    broker = make_broker("--num-workers", "2", env=postgres.env()).start()
    postgres.psql("ALTER ROLE queen PASSWORD 'changed'", role="postgres")
    postgres.terminate_backends()
    assert_told(broker)
    assert said(broker) < 10, "not a line per connection and attempt"


def test_a_missing_database_is_named(make_broker, postgres):
    broker = make_broker(env={**postgres.env(), "PG_DB": "nowhere"}).start(until="live")
    wait_until(lambda: "the broker's database does not exist" in broker.log(), 10, "the reason")
    assert broker.get("/health").json()["error"].startswith("the broker's database does not exist")
