"""PostgreSQL has committed and the broker did not hear of it: who waits for what that made available is
served all the same, long before a lease ends."""

import concurrent.futures

import pytest

from support.acks import ack_of
from support.process import wait_until

WAIT = "wait=true&timeout=25000"


@pytest.fixture
def proxy(postgres, make_proxy):
    return make_proxy(postgres.host, postgres.port)


@pytest.fixture
def broker(postgres, proxy, make_broker):
    return make_broker("--num-workers", "2", env=postgres.env(proxy.host, proxy.port)).start()


@pytest.fixture
def pool():
    with concurrent.futures.ThreadPoolExecutor(4) as threads:
        yield threads


def push(broker, queue, *payloads, partition="Default", **more):
    """The outcomes of one push, a transactionId per payload: its first characters."""
    return broker.post("/api/v1/push", {"items": [
        {"queue": queue, "partition": partition, "payload": payload, "transactionId": str(payload)[:9]} | more
        for payload in payloads]})


def occupy_the_background(broker, queue, status=200):
    """The broker looks at what it may have missed, one group every few seconds in the order it has come to know
    them, the one without a name last: what is found for that within half a minute was not found so."""
    for group in [*(f"g{number}" for number in range(12)), ""]:
        path = f"/api/v1/pop/queue/{queue}?autoAck=true&consumerGroup={group}"
        wait_until(lambda: broker.get(path).status == status, 30, "an answer")


def acknowledged(broker, message, status="completed"):
    """The reply to an ack; again while no connection is up."""
    return wait_until(lambda: (reply := broker.post("/api/v1/ack", ack_of(message, status))).status == 200 and reply)


@pytest.mark.parametrize("status", ["completed", "dlq"])
def test_the_end_of_a_lease(broker, proxy, pool, status):
    """Acks go to the worker of their partition, pops to that of their queue. Of two partitions made one after
    the other one has a worker that is not the queue's."""
    assert push(broker, "leased", "old").status == 201
    occupy_the_background(broker, "leased")
    path = "/api/v1/pop/queue/leased?leaseTime=300"
    for partition in ("a", "b"):
        assert push(broker, "leased", "m1", "m2", partition=partition).status == 201
        message = broker.get(path).json()["messages"][0]
        assert broker.get(path).status == 204  # the broker knows it to be held
        waiter = pool.submit(broker.get, f"{path}&{WAIT}")
        before = proxy.replies_cut()
        proxy.cut_reply(b"append_verdicts")
        reply = broker.post("/api/v1/ack", ack_of(message, status))
        assert proxy.replies_cut() == before + 1
        if status == "completed":
            assert reply.status == 200 and reply.json()[0]["success"], reply
        else:  # counting it twice would be wrong, so it is not repeated
            assert reply.status == 503 and reply.json()["code"] == "outcome_unknown", reply
        served = waiter.result()
        assert served.status == 200 and served.json()["messages"][0]["transactionId"] == "m2"
        assert acknowledged(broker, served.json()["messages"][0]).json()[0]["success"]


STALL = """
    CREATE TABLE public.stalled (payload text);
    CREATE FUNCTION public.stall() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        WHILE EXISTS (SELECT FROM public.stalled s WHERE NEW.payloads LIKE s.payload || '%') LOOP
            PERFORM pg_sleep(0.01);
        END LOOP;
        RETURN NEW;
    END $$;
    CREATE TRIGGER stall BEFORE INSERT ON queen.segments FOR EACH ROW EXECUTE FUNCTION public.stall();
    GRANT SELECT ON public.stalled TO PUBLIC;
"""


def test_a_push_that_commits_while_it_is_in_the_file_buffer(postgres, broker, proxy, pool):
    """Its connection is lost, PostgreSQL cannot be asked, and what it pushes goes to the buffer. Then it commits
    after all: what is replayed is a duplicate, and nobody else will speak of the message."""
    assert push(broker, "late", "old").status == 201
    occupy_the_background(broker, "late")
    postgres.psql(STALL)
    postgres.psql("""INSERT INTO public.stalled VALUES ('"new')""")
    proxy.cut_reply(b"push_messages", at_once=True)
    pushed = pool.submit(push, broker, "late", "new")
    wait_until(lambda: "a push batch ended without an answer" in broker.log(), 30, "the lost connection")
    proxy.refuse()
    proxy.cut()
    assert pushed.result().json()[0]["status"] == "buffered"
    proxy.forward()
    occupy_the_background(broker, "late", status=204)  # it has looked, and found nothing
    waiter = pool.submit(broker.get, f"/api/v1/pop/queue/late?autoAck=true&{WAIT}")
    postgres.psql("DELETE FROM public.stalled")
    served = waiter.result()
    assert served.status == 200 and served.json()["messages"][0]["data"] == "new"
    assert postgres.psql("SELECT count(*) FROM queen.messages WHERE queue = 'late'") == "2"
