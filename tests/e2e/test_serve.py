"""`queen serve` with its own cluster and with one that runs elsewhere: health, start and stop."""

import os
import signal
import urllib.parse

import pytest

from support.postgres import PASSWORD, control_state
from support.process import is_running, wait_until


def assert_healthy(broker):
    assert broker.get("/livez").status == 200
    assert broker.get("/readyz").status == 200
    health = broker.get("/health")
    assert health.status == 200
    assert health.headers["content-type"].startswith("application/json")
    assert health.json()["status"] == "healthy"


def assert_unhealthy(broker):
    assert broker.get("/livez").status == 200, "a broker without its database is not dead"
    assert broker.get("/readyz").status == 503
    health = broker.get("/health")
    assert health.status == 503
    assert health.json()["status"] == "unhealthy"


def assert_delivers(broker, queue):
    """One message there and back."""
    pushed = broker.post("/api/v1/push", {"items": [{"queue": queue, "payload": {"n": 1}}]})
    assert pushed.status == 201, pushed
    assert pushed.json()[0]["status"] == "queued"
    popped = broker.get(f"/api/v1/pop/queue/{queue}?batch=1&wait=true&timeout=10000")
    assert popped.status == 200, popped
    assert popped.json()["messages"][0]["data"] == {"n": 1}


@pytest.mark.parametrize("sig", [signal.SIGTERM, signal.SIGINT])
def test_embedded_cluster_serves_and_stops_cleanly(make_broker, sig):
    broker = make_broker().start()
    assert_healthy(broker)
    assert_delivers(broker, "serve.embedded")
    postmaster = broker.postmaster_pid()
    assert is_running(postmaster)
    assert broker.stop(sig) == 0
    assert not is_running(postmaster), "the cluster outlived its broker"
    assert control_state(broker.cluster_directory) == "shut down"


def test_settings_from_the_environment(make_broker, directory):
    """PORT, HOST and QUEEN_DATA_DIR instead of flags."""
    broker = make_broker()
    flags = broker.command()
    broker.env.update({"PORT": str(broker.port), "HOST": broker.host,
                       "QUEEN_DATA_DIR": os.path.join(directory, "from-environment")})
    broker.data_dir = os.path.join(directory, "from-environment")
    broker.command = lambda: flags[:2]
    broker.start()
    assert_healthy(broker)
    assert os.path.isdir(broker.cluster_directory)
    assert broker.stop() == 0


def test_unknown_flag_is_refused_by_name(make_broker):
    code, output = make_broker("--no-such-flag").run_to_end()
    assert code != 0
    assert "no-such-flag" in output


def test_a_port_in_use_is_refused_by_number(make_broker, postgres):
    first = make_broker(env={"DATABASE_URL": postgres.url}).start()
    second = make_broker(env={"DATABASE_URL": postgres.url}, port=first.port)
    code, output = second.run_to_end()
    assert code != 0
    assert str(first.port) in output
    assert_healthy(first)


def test_a_start_refused_for_its_port_leaves_nothing_behind(make_broker, postgres):
    first = make_broker(env={"DATABASE_URL": postgres.url}).start()
    second = make_broker(port=first.port)
    code, output = second.run_to_end()
    assert code != 0
    assert str(first.port) in output
    assert not os.path.exists(second.data_dir)


def test_a_password_on_the_command_line_is_warned_of_and_hidden(make_broker, postgres):
    broker = make_broker("--database-url", postgres.url).start()
    with open(f"/proc/{broker.pid}/cmdline", "rb") as file:
        words = file.read().decode().split("\0")
    assert words[words.index("--database-url") + 1].strip("*") == ""
    assert "--database-url holds a password" in broker.log() and "PGPASSFILE" in broker.log()
    assert urllib.parse.quote(PASSWORD) not in broker.log() and PASSWORD not in broker.log()


def test_external_server_by_url(make_broker, postgres):
    broker = make_broker(env={"DATABASE_URL": postgres.url}).start()
    assert_healthy(broker)
    assert_delivers(broker, "serve.url")
    assert not os.path.exists(broker.cluster_directory), "made a cluster nobody asked for"
    assert broker.stop() == 0
    assert postgres.pid is not None


def test_external_server_by_pg_variables(make_broker, postgres):
    broker = make_broker(env=postgres.env()).start()
    assert_healthy(broker)
    assert_delivers(broker, "serve.variables")
    assert not os.path.exists(broker.cluster_directory)
    assert broker.stop() == 0


def test_starts_while_the_external_server_is_down(make_broker, make_postgres):
    postgres = make_postgres()
    postgres.stop()
    broker = make_broker(env={"DATABASE_URL": postgres.url}).start(until="live")
    assert_unhealthy(broker)
    postgres.start()
    broker.wait_for("/readyz", 200)
    assert_healthy(broker)
    assert_delivers(broker, "serve.late")
    assert broker.stop() == 0


def test_stops_while_the_external_server_is_down(make_broker, make_postgres):
    postgres = make_postgres()
    postgres.stop()
    broker = make_broker(env={"DATABASE_URL": postgres.url}).start(until="live")
    assert broker.stop() == 0


def test_recovers_from_a_restart_of_the_external_server(make_broker, postgres):
    broker = make_broker(env={"DATABASE_URL": postgres.url}).start()
    pid = broker.pid
    for mode in ("fast", "immediate"):
        postgres.stop(mode)
        broker.wait_for("/readyz", 503)
        assert_unhealthy(broker)
        postgres.start()
        broker.wait_for("/readyz", 200)
        assert_delivers(broker, f"serve.restart.{mode}")
    assert broker.pid == pid, "the broker did not live through it"


def test_recovers_when_the_path_to_the_server_is_cut(make_broker, postgres, make_proxy):
    proxy = make_proxy(postgres.host, postgres.port)
    broker = make_broker(env={"DATABASE_URL": postgres.url_at(proxy.host, proxy.port)}).start()
    proxy.refuse()
    proxy.cut()
    broker.wait_for("/readyz", 503)
    proxy.forward()
    broker.wait_for("/readyz", 200)
    assert_delivers(broker, "serve.cut")


def test_notices_a_server_that_hangs(make_broker, postgres):
    broker = make_broker(env={"DATABASE_URL": postgres.url}).start()
    postgres.pause()
    broker.wait_for("/readyz", 503, seconds=90)
    assert broker.get("/livez").status == 200
    postgres.resume()
    broker.wait_for("/readyz", 200)
    assert_delivers(broker, "serve.hang")


def test_several_brokers_start_at_once_on_an_empty_database(make_broker, postgres):
    brokers = [make_broker(env={"DATABASE_URL": postgres.url}) for _ in range(4)]
    for broker in brokers:
        broker.start(until=None)
    for broker in brokers:
        broker.wait_for("/readyz", 200)
    for number, broker in enumerate(brokers):
        assert_delivers(broker, f"serve.together.{number}")
    for broker in brokers:
        assert broker.stop() == 0


def test_log_lines_are_json_when_asked(make_broker, postgres):
    import json
    broker = make_broker(env={"DATABASE_URL": postgres.url, "LOG_FORMAT": "json"}).start()
    assert broker.stop() == 0
    lines = [json.loads(line) for line in broker.log().splitlines() if line]
    listening = [line for line in lines if line["message"] == "listening"]
    assert len(listening) == 1
    assert str(broker.port) in listening[0]["url"]


def test_no_thread_is_left_when_stopped_early(make_broker):
    """A stop during the first start, while initdb runs, is a clean exit too."""
    broker = make_broker().start(until=None)
    wait_until(lambda: os.path.isdir(broker.data_dir), what="the data directory")
    assert broker.stop() == 0
