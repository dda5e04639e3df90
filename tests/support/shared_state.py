"""What a broker says of the others."""

from .process import wait_until


def shared_state(broker):
    """GET /api/v1/system/shared-state."""
    reply = broker.get("/api/v1/system/shared-state")
    assert reply.status == 200, reply
    return reply.json()


def waiting(broker, queue):
    """How many pops wait for the queue at this broker."""
    return sum(entry["waiting"] for entry in shared_state(broker)["consumer_presence"] if entry["queue"] == queue)


def peers(broker, state="alive"):
    """Those of its peers that are in that state."""
    return [peer for peer in shared_state(broker)["peers"] if peer["state"] == state]


def wait_acquainted(brokers, others=None):
    """Until each of them hears `others`, by default all but itself."""
    others = len(brokers) - 1 if others is None else others
    for broker in brokers:
        wait_until(lambda b=broker: len(peers(b)) == others, what=f"{broker.url} to hear {others} brokers")


def wait_awaited(broker, count=1):
    """Until a broker knows that so many (queue, group)s are waited for elsewhere."""
    wait_until(lambda: sum(peer["waits_for"] for peer in peers(broker)) == count,
               what=f"{broker.url} to know of {count} that are waited for")
