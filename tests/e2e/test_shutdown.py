"""What a client sees when the broker is told to stop."""

import http.client
import json
import signal
import threading

import pytest

from support.process import wait_until


def test_long_polls_are_answered_when_the_broker_stops(make_broker, postgres):
    """Nobody waits for a broker that is going away: a parked pop gets its 204, the exit is clean."""
    broker = make_broker(env={"DATABASE_URL": postgres.url, "QUEEN_SHUTDOWN_TIMEOUT_MS": "60000"}).start()
    replies = []

    def poll(path):
        connection = http.client.HTTPConnection("127.0.0.1", broker.port, timeout=120)
        connection.request("GET", path)
        replies.append(connection.getresponse().status)

    # Each first pop leaves its group's record, so the database tells when it has arrived.
    polls = [
        threading.Thread(target=poll, args=(f"/api/v1/pop/queue/stop-{n}?wait=true&timeout=600000&consumerGroup=g",))
        for n in range(8)
    ]
    for thread in polls:
        thread.start()
    wait_until(
        lambda: postgres.psql("SELECT count(*) FROM queen.early_groups WHERE queue_name LIKE 'stop-%'").strip() == "8",
        what="eight pops to arrive",
    )
    assert broker.stop() == 0
    for thread in polls:
        thread.join(timeout=60)
    assert replies == [204] * 8


class LoopingClient(threading.Thread):
    """One request after the other on a connection that is kept, without retries, until it is told that the
    connection ends. Whatever else ends it is its error."""

    def __init__(self, broker, number):
        super().__init__()
        self.connection = http.client.HTTPConnection(broker.host, broker.port, timeout=120)
        self.body = json.dumps({"items": [{"queue": f"stop-loop-{number}", "payload": 1}]})
        self.served = 0
        self.error = None

    def run(self):
        try:
            while True:
                self.connection.request("POST", "/api/v1/push", self.body)
                reply = self.connection.getresponse()
                reply.read()
                assert reply.status == 201, reply.status
                self.served += 1
                if reply.will_close:
                    return
        except BaseException as error:  # pylint: disable=broad-except
            self.error = error


@pytest.mark.parametrize("sig", [signal.SIGINT, signal.SIGTERM])
def test_no_request_on_its_way_meets_a_closed_connection(make_broker, postgres, sig):
    broker = make_broker("--num-workers", "2", env={"DATABASE_URL": postgres.url})
    for _ in range(2):
        broker.start()
        clients = [LoopingClient(broker, number) for number in range(16)]
        for client in clients:
            client.start()
        wait_until(lambda: all(client.served > 20 for client in clients), what="the load")
        assert broker.stop(sig) == 0
        for client in clients:
            client.join(timeout=60)
        assert [client.error for client in clients] == [None] * len(clients)


def test_an_idle_connection_is_closed_in_order_and_not_waited_for(make_broker, postgres):
    broker = make_broker(env={"DATABASE_URL": postgres.url, "QUEEN_SHUTDOWN_TIMEOUT_MS": "60000"}).start()
    connection = http.client.HTTPConnection(broker.host, broker.port, timeout=120)
    connection.request("GET", "/livez")
    assert connection.getresponse().read()
    assert broker.stop() == 0  # though this side stays open
    assert connection.sock.recv(1) == b"", "a reset would be an error"
