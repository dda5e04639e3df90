"""The checker finds what it is there for, tried on histories with a planted fault each."""

import copy

import pytest

from history.events import COUNTS, Consumed, Delivery, Pushed, check_group, check_pushes


def history():
    """Two deliveries of one partition, of three and two messages, all completed."""
    pushed = Pushed(0, stored={("p", n): f"id{n}" for n in range(5)})
    first = Delivery("p", 1.0, 1.1, True, 1.2, [(n, f"id{n}", 0, n, 0) for n in range(3)])
    second = Delivery("p", 1.0, 2.1, True, 2.2, [(n, f"id{n}", 0, n, 0) for n in (3, 4)])
    completed = {("p", n): 1.3 if n < 3 else 2.3 for n in range(5)}
    return pushed, Consumed("group", [first, second], completed)


def verdict_of(pushed, consumed):
    return {what: count for what, count in check_group([pushed], consumed).counts.items() if count}


def test_nothing_is_found_where_nothing_is():
    assert verdict_of(*history()) == {}
    assert check_pushes([history()[0]])


def test_redelivery_of_what_failed_or_expired_is_right():
    pushed, consumed = history()
    again = Delivery("p", 1.3, 1.4, True, 1.5, [(1, "id1", 0, 1, 1)])
    consumed.deliveries.append(again)
    consumed.completed["p", 1] = 1.6
    consumed.failed["p", 1] = 1
    assert verdict_of(pushed, consumed) == {}


def skipped(pushed, consumed):
    del consumed.deliveries[0].messages[1], consumed.completed["p", 1]


def never_acked(pushed, consumed):
    del consumed.completed["p", 4]


def stored_twice(pushed, consumed):
    consumed.deliveries[1].messages.append((5, "id5", 0, 4, 0))
    consumed.completed["p", 5] = 2.3


def swapped_in_a_delivery(pushed, consumed):
    consumed.deliveries[0].messages.reverse()


def swapped_deliveries(pushed, consumed):
    consumed.deliveries[0].got, consumed.deliveries[1].got = 2.1, 1.1
    consumed.deliveries[0].ended = consumed.deliveries[1].ended = 3.0
    consumed.completed = {key: 3.1 for key in consumed.completed}


def producer_out_of_order(pushed, consumed):
    messages = consumed.deliveries[0].messages
    messages[0], messages[1] = (0, "id1", 0, 1, 0), (1, "id0", 0, 0, 0)


def after_the_ack(pushed, consumed):
    consumed.deliveries.append(Delivery("p", 3.0, 3.1, True, 3.2, [(2, "id2", 0, 2, 0)]))


def two_holders(pushed, consumed):
    consumed.deliveries[0].ended = 2.15
    consumed.completed.update({("p", n): 2.16 for n in range(3)})


def counted_without_failure(pushed, consumed):
    consumed.deliveries[0].messages[0] = (0, "id0", 0, 0, 1)


@pytest.mark.parametrize("fault, what", [
    (skipped, "lost"), (never_acked, "lost"), (stored_twice, "duplicated"),
    (swapped_in_a_delivery, "reordered"), (swapped_deliveries, "reordered"),
    (producer_out_of_order, "reordered"), (after_the_ack, "redelivered"), (skipped, "gaps"),
    (two_holders, "double_leased"), (counted_without_failure, "miscounted"),
])
def test_a_fault_is_found(fault, what):
    pushed, consumed = copy.deepcopy(history())
    fault(pushed, consumed)
    assert what in COUNTS
    assert what in verdict_of(pushed, consumed), verdict_of(pushed, consumed)


def test_one_id_for_two_messages_is_found():
    pushed, _ = history()
    pushed.stored["p", 4] = "id3"
    assert not check_pushes([pushed])
