"""A push of many lines while the broker is away: it says so, and it ends."""

import signal
import subprocess

from support.broker import base_environment, binary
from support.cli import run_cli
from support.process import free_port


def start_push(url, *words):
    return subprocess.Popen([binary(), "push", "q", "--url", url, *words], text=True, env=base_environment(),
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def test_without_a_broker_it_ends_at_once():
    ended = run_cli("push", "q", url=f"http://127.0.0.1:{free_port()}", stdin="1\n2\n")
    assert ended.code == 3 and "no broker answers" in ended.err


def test_it_says_that_it_tries_again_and_a_signal_ends_it(make_broker):
    broker = make_broker().start()
    push = start_push(broker.url, "--batch", "1")
    push.stdin.write("1\n")
    push.stdin.flush()
    broker.wait_for("/api/v1/pop/queue/q?autoAck=true", 200)
    broker.kill9()
    push.stdin.write("2\n3\n")
    push.stdin.flush()
    assert "trying again" in push.stderr.readline()
    push.send_signal(signal.SIGTERM)
    out, err = push.communicate(timeout=30)
    assert push.returncode == 130
    assert out.startswith("1 queued, 2 failed") and "trying again" not in err


def test_it_tries_as_often_as_it_is_told(make_broker):
    broker = make_broker().start()
    push = start_push(broker.url, "--batch", "1", "--tries", "1")
    push.stdin.write("1\n")
    push.stdin.flush()
    broker.wait_for("/api/v1/pop/queue/q?autoAck=true", 200)
    broker.kill9()
    out, err = push.communicate("2\n", timeout=30)
    assert push.returncode == 3 and out.startswith("1 queued, 1 failed"), (out, err)
    assert "trying again" not in err
    assert run_cli("push", "q", "3", "--tries", "1", url=broker.url).code == 3
    assert run_cli("push", "q", "3", "--tries", "0", url=broker.url).code == 2


def test_a_signal_ends_the_wait_for_input(make_broker):
    broker = make_broker().start()
    push = start_push(broker.url)
    push.stdin.write("1\n2")
    push.stdin.flush()
    broker.wait_for("/api/v1/pop/queue/q?autoAck=true", 200)
    push.send_signal(signal.SIGTERM)
    assert push.wait(timeout=30) == 130
    assert push.stdout.read().startswith("1 queued")  # half a line is no message
    push.stdin.close()


def test_it_goes_on_when_the_broker_is_back(make_broker):
    broker = make_broker().start()
    push = start_push(broker.url, "--batch", "1")
    push.stdin.write("1\n")
    push.stdin.flush()
    broker.wait_for("/api/v1/pop/queue/q?consumerGroup=g", 200)
    broker.stop()
    push.stdin.write("2\n")
    push.stdin.flush()
    assert "trying again" in push.stderr.readline()
    broker.start()
    out, _ = push.communicate(timeout=60)
    # a broker that is back before its database keeps the message on its disk meanwhile
    assert push.returncode == 0 and out.startswith(("2 queued", "1 queued, 1 buffered")), out
    pop = "/api/v1/pop/queue/q?consumerGroup=h&autoAck=true"
    assert [broker.wait_for(pop, 200).json()["messages"][0]["data"] for _ in range(2)] == [1, 2]
