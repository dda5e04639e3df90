"""The judge of the liveness test: whom it finds late, and whom not."""

import pytest

from liveness.readiness import Queue, Readiness, Waiter


@pytest.fixture
def readiness():
    return Readiness()


def add(readiness, **options):
    """A queue s.q with that option and one message in partition p, pushed at 10."""
    queue = Queue("s.q", **options)
    readiness.add_queue(queue, ["g"])
    lane = readiness.lane("s.q", "p", "g")
    readiness.push_sent("s.q", "p", 9.9)
    readiness.pushed("s.q", "p", ["m"], 10.0)
    return lane


def wait(readiness, since=5.0, **place):
    waiter = Waiter(since, "g", "s", **place)
    readiness.wait(waiter)
    return waiter


def test_who_is_served_in_time_is_not_late(readiness):
    lane = add(readiness)
    readiness.end(wait(readiness), 10.4)
    readiness.got(lane, ["m"], "lease", 10.4)
    assert not readiness.violations and readiness.judged


@pytest.mark.parametrize("place", [{}, {"queue": "s.q"}, {"queue": "s.q", "partition": "p"}])
def test_who_waits_beside_something_ready_is_late(readiness, place):
    add(readiness)
    readiness.end(wait(readiness, **place), 10.6)
    assert len(readiness.violations) == 1


def test_who_is_passed_over_is_late(readiness):
    lane = add(readiness)
    wait(readiness)
    readiness.got(lane, ["m"], "lease", 10.6)
    assert len(readiness.violations) == 1


def test_who_wants_something_else_is_not_late(readiness):
    add(readiness)
    readiness.end(wait(readiness, queue="s.q", partition="other"), 15.0)
    readiness.end(wait(readiness, queue="s.other"), 15.0)
    assert not readiness.judged


@pytest.mark.parametrize("options", [{"delay": 1.0}, {"window": 1.0}])
def test_a_delay_and_a_window_have_to_be_over(readiness, options):
    add(readiness, **options)
    first, second = wait(readiness), wait(readiness)
    readiness.end(first, 11.4)
    assert not readiness.violations
    readiness.end(second, 11.6)
    assert len(readiness.violations) == 1


def test_a_lease_has_to_be_over(readiness):
    lane = add(readiness, lease=1.0)
    readiness.got(lane, ["m"], "lease", 10.1)
    first, second = wait(readiness), wait(readiness)
    readiness.end(first, 11.5)
    assert not readiness.violations
    readiness.end(second, 11.7)
    assert len(readiness.violations) == 1


def test_what_is_settled_is_not_waited_for_and_what_is_handed_back_is(readiness):
    lane = add(readiness, lease=300.0)
    readiness.got(lane, ["m"], "one", 10.1)
    readiness.asked(lane, 10.2)
    readiness.answered(lane, 10.3, ends="one")  # `retry`
    readiness.end(wait(readiness), 10.9)
    assert len(readiness.violations) == 1
    readiness.got(lane, ["m"], "two", 11.0)
    readiness.asked(lane, 11.1)
    readiness.answered(lane, 11.2, ["m"], ends="two")
    readiness.end(wait(readiness), 20.0)
    assert len(readiness.violations) == 1


def test_replies_may_overtake_each_other(readiness):
    lane = add(readiness, lease=300.0)
    readiness.pushed("s.q", "p", ["m2"], 10.0)
    readiness.got(lane, ["m2"], "lease", 10.1)
    readiness.got(lane, ["m"], None, 10.1)  # acknowledged on delivery, and before that lease
    readiness.end(wait(readiness), 20.0)
    assert not readiness.violations


def test_what_is_on_its_way_is_not_judged(readiness):
    lane = add(readiness)
    readiness.asked(lane, 10.1)
    readiness.end(wait(readiness), 20.0)
    assert not readiness.violations


def test_a_slow_machine_is_an_excuse_for_as_long_as_it_was_slow():
    readiness = Readiness(lambda begin, end: 1.0)
    add(readiness)
    first, second = wait(readiness), wait(readiness)
    readiness.end(first, 11.4)
    assert not readiness.violations and readiness.excused
    readiness.end(second, 11.6)
    assert len(readiness.violations) == 1
