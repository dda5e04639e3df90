"""The checker finds what it is there for, tried on histories with a planted fault each."""

import copy

import pytest

from history.events import COUNTS, Consumed, Delivery, Log, Pushed, check_group, check_pushes


def history():
    """Two deliveries of one partition, of three and two messages, all completed."""
    pushed = Pushed(0, stored={("p", n): f"id{n}" for n in range(5)})
    first = Delivery("p", 1.0, 1.1, True, 1.2, [(n, f"id{n}", 0, n, 0) for n in range(3)])
    second = Delivery("p", 1.0, 2.1, True, 2.2, [(n, f"id{n}", 0, n, 0) for n in (3, 4)])
    completed = {("p", n): 1.3 if n < 3 else 2.3 for n in range(5)}
    return pushed, Consumed("group", [first, second], completed)


def verdict_of(pushed, consumed, *others):
    verdict = check_group(Log([pushed], [consumed, *others]), consumed)
    return {what: count for what, count in verdict.counts.items() if count}


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


def redriven():
    """Message 1 died in `group`, was pushed again behind the others, and completed; `other` has completed all five."""
    pushed, consumed = history()
    other = copy.deepcopy(consumed)
    other.group = "other"
    del consumed.completed["p", 1]
    consumed.settle(("p", 1), 1.3, dead=True)
    consumed.deliveries.append(Delivery("p", 3.0, 3.1, True, 3.2, [(5, "copy", 0, 1, 0)]))
    consumed.settle(("p", 5), 3.3)
    consumed.redriven = 1
    return pushed, consumed, other


def test_a_dead_letter_that_comes_back_to_its_group_is_right():
    pushed, consumed, other = redriven()
    assert verdict_of(pushed, consumed, other) == {}
    assert verdict_of(pushed, other, consumed) == {}
    assert Log([pushed], [consumed, other]).letters_left(consumed) == {}


def test_the_dead_letters_that_are_left_are_known():
    pushed, consumed, other = redriven()
    del consumed.completed["p", 5]
    consumed.settle(("p", 5), 3.3, dead=True)
    assert verdict_of(pushed, consumed, other) == {}
    assert Log([pushed], [consumed, other]).letters_left(consumed) == {("p", 5): "copy"}


def never_came_back(consumed, other):
    del consumed.deliveries[-1], consumed.completed["p", 5]


def left_after_it_came_back(consumed, other):
    del consumed.completed["p", 5]


def came_back_twice(consumed, other):
    consumed.deliveries.append(Delivery("p", 4.0, 4.1, True, 4.2, [(6, "copy2", 0, 1, 0)]))
    consumed.settle(("p", 6), 4.3)


def delivered_when_dead(consumed, other):
    consumed.deliveries.append(Delivery("p", 4.0, 4.1, True, 4.2, [(1, "id1", 0, 1, 0)]))


@pytest.mark.parametrize("fault, what", [
    (never_came_back, "lost"), (left_after_it_came_back, "lost"), (came_back_twice, "duplicated"),
    (delivered_when_dead, "redelivered"),
])
def test_a_fault_of_a_redrive_is_found(fault, what):
    pushed, consumed, other = redriven()
    fault(consumed, other)
    assert what in verdict_of(pushed, consumed, other)


def test_a_redrive_for_another_group_is_found():
    pushed, consumed, other = redriven()
    other.deliveries.append(consumed.deliveries[-1])
    other.settle(("p", 5), 3.3)
    assert "duplicated" in verdict_of(pushed, other, consumed)


def test_one_id_for_two_messages_is_found():
    pushed, _ = history()
    pushed.stored["p", 4] = "id3"
    assert not check_pushes([pushed])
