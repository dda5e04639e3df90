"""What a client sees when the broker is told to stop."""

import http.client
import threading

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
