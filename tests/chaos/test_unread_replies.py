"""I10, replies that nobody reads: room for a reply is taken before its messages are, so one client with large
replies it does not take cannot fill the memory, nor keep others from small ones. The bound is that of
docs/reliability.md. Who waits for room comes before who arrives later."""

import itertools
import os
import signal

import pytest

from chaos.overload import Call, assert_refused, peak_memory, push
from support.acks import ack_of
from support.broker import sanitized
from support.process import wait_until

MIB = 1 << 20
LARGE, SMALL, HUGE, MEDIUM = "unread.large", "unread.small", "unread.huge", "unread.medium"
REPLY_BYTES = 32 * MIB
MESSAGE_BYTES = 8 * MIB
HUGE_BYTES = 15 * MIB  # has room beside one large reply, not beside two
MEDIUM_BYTES = 6 * MIB  # beside two
MESSAGES = 20
WORKERS = 2
SLOTS = 8  # SIDECAR_POOL_SIZE


@pytest.fixture
def start(make_broker, postgres):
    """Starts a broker with so many large messages, each in a partition of its own."""
    def start(messages):
        broker = make_broker("--num-workers", str(WORKERS), "--sidecar-pool-size", str(SLOTS), "--http-reply-bytes-max",
                             str(REPLY_BYTES), env=postgres.env()).start()
        for number in range(messages):
            push_one(broker, LARGE, f"p{number}", {"n": number, "text": "x" * MESSAGE_BYTES})
        return broker
    return start


@pytest.fixture
def broker(start):
    return start(MESSAGES)


@pytest.fixture
def crowded(start):
    """(broker, calls) of which two hold a large reply that they do not read."""
    broker = start(2)
    push_one(broker, HUGE, "huge", "x" * HUGE_BYTES)
    push_one(broker, MEDIUM, "medium", "x" * MEDIUM_BYTES)
    calls = unread(broker, 2)
    wait_until(lambda: pop(broker, LARGE, "&consumerGroup=probe").status == 503, 60, "no room to be left")
    yield broker, calls
    for call in calls:
        call.socket.close()


def push_one(broker, queue, partition, payload):
    assert push(broker, [{"queue": queue, "partition": partition, "payload": payload}]).status == 201


def pop(broker, queue, options=""):
    return broker.get(f"/api/v1/pop/queue/{queue}?autoAck=true{options}", timeout=60)


def take(broker, taken):
    """The status of a pop of a large message, which is added to `taken`."""
    reply = pop(broker, LARGE)
    if reply.status == 200:
        taken += [message["data"]["n"] for message in reply.json()["messages"]]
    return reply.status


def unread(broker, count, options=""):
    """So many clients that ask for large messages and read nothing."""
    return [Call(broker, "GET", f"/api/v1/pop/queue/{LARGE}?autoAck=true{options}", receive_buffer=65536)
            for _ in range(count)]


def serve_small(broker):
    """One message there and back."""
    assert push(broker, [{"queue": SMALL, "payload": 1}]).status == 201
    reply = broker.get(f"/api/v1/pop/queue/{SMALL}", timeout=60)
    assert reply.status == 200, reply
    reply = broker.post("/api/v1/ack", ack_of(reply.json()["messages"][0]))
    assert reply.status == 200 and reply.json()[0]["success"] is True, reply


def memory_bound(at_rest):
    """docs/reliability.md, "The bound": what may be held, as often as it may be in memory while it is read, and
    what each connection to PostgreSQL keeps for a row of that size."""
    return at_rest + 4 * REPLY_BYTES + SLOTS * 2 * MESSAGE_BYTES


def test_large_replies_that_nobody_reads(broker):
    """Large replies are refused while there is no room for them. Small ones, pushes and acks go on, and every
    message is delivered once."""
    at_rest = peak_memory(broker)
    calls = unread(broker, MESSAGES)
    # Two have room; the others are refused when they have waited for it. Their small 503 is there to be read.
    taken = []
    wait_until(lambda: take(broker, taken) == 503, 60, "no room to be left")
    for _ in range(10):
        serve_small(broker)
    assert pop(broker, "unread.nothing").status == 204
    assert_refused(pop(broker, LARGE))
    peak = peak_memory(broker)
    print(f"unread replies: at rest {at_rest >> 20} MiB, peak {peak >> 20} MiB, bound {memory_bound(at_rest) >> 20} MiB")
    assert peak < memory_bound(at_rest) or sanitized()  # whose memory is not the broker's
    answers = [call.finish() for call in calls]
    held = [body["messages"][0]["data"]["n"] for status, body in answers if status == 200]
    assert len(held) == 2 and {status for status, _ in answers} <= {200, 204, 503}
    taken += held
    wait_until(lambda: take(broker, taken) and len(taken) == MESSAGES, 60, "all messages")
    assert sorted(taken) == list(range(MESSAGES))


def test_a_long_poll_waits_for_room(broker):
    """It is answered when others have taken theirs."""
    calls = unread(broker, 2)
    wait_until(lambda: take(broker, []) == 503, 60, "no room to be left")
    waiting = Call(broker, "GET", f"/api/v1/pop/queue/{LARGE}?autoAck=true&wait=true&timeout=60000")
    serve_small(broker)
    assert [call.finish()[0] for call in calls] == [200, 200]
    status, reply = waiting.finish()
    assert (status, len(reply["messages"])) == (200, 1)


def await_huge(broker, timeout_ms=60_000):
    """A long poll for the huge message that waits for room for it. Then a medium one has none, though it would fit."""
    waiting = Call(broker, "GET", f"/api/v1/pop/queue/{HUGE}?wait=true&timeout={timeout_ms}")
    numbers = itertools.count()
    wait_until(lambda: medium_status(broker, f"before{next(numbers)}") == 503, 20, "room to be kept for who waits")
    return waiting


def medium_status(broker, group):
    return pop(broker, MEDIUM, f"&consumerGroup={group}").status


def test_room_goes_to_who_waits_for_it(crowded):
    """Smaller replies that come later leave it free, until it is taken."""
    broker, calls = crowded
    waiting = await_huge(broker)
    late = Call(broker, "GET", f"/api/v1/pop/queue/{MEDIUM}?consumerGroup=late&wait=true&timeout=60000",
                receive_buffer=65536)
    assert calls[0].finish()[0] == 200
    status, reply = waiting.finish()
    assert (status, len(reply["messages"][0]["data"])) == (200, HUGE_BYTES)
    assert late.finish()[0] == 200
    assert calls[1].finish()[0] == 200


def test_who_waits_no_more_keeps_no_room(crowded):
    """Its time is over, or its client has gone."""
    broker, _ = crowded
    assert await_huge(broker, 5_000).finish() == (204, None)
    assert medium_status(broker, "after-the-time") == 200
    await_huge(broker).socket.close()
    wait_until(lambda: medium_status(broker, "after-the-client") == 200, 30, "room to be free again")


def test_a_message_without_room_holds_up_no_other_partition(crowded):
    """Who waits for room takes what another partition has meanwhile."""
    broker, calls = crowded
    waiting = await_huge(broker, 10_000)
    push_one(broker, HUGE, "small", 1)
    status, reply = waiting.finish()
    assert (status, reply and reply["messages"][0]["data"]) == (200, 1)
    assert [call.finish()[0] for call in calls] == [200, 200]
    reply = pop(broker, HUGE)
    assert (reply.status, len(reply.json()["messages"][0]["data"])) == (200, HUGE_BYTES)


def test_shutting_down_ends_a_wait_for_room(crowded):
    """As that of every other long poll."""
    broker, _ = crowded
    waiting = await_huge(broker)
    os.kill(broker.pid, signal.SIGTERM)
    assert waiting.finish() == (204, None)
