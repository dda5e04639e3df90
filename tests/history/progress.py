"""How far a run is, for those who break something at a certain point of it."""

import multiprocessing

from support.process import wait_until


class Progress:
    """How far a run is; its processes write it, whoever has the plan reads it."""

    def __init__(self, groups):
        context = multiprocessing.get_context("fork")
        self.pushed = context.Value("q", 0)
        self.completed = {name: context.Value("q", 0) for name in groups}
        self.over = context.Event()  # producers without an end stop
        self.produced = context.Event()  # all producers have stopped
        self.failed = context.Event()  # a client met what it must not meet

    def done(self):
        """Messages that every group has settled."""
        return min(completed.value for completed in self.completed.values())

    def wait(self, count, seconds=120):
        """Returns when `count` more were pushed, and completed by every group, than before."""
        pushed = self.pushed.value + count
        done = self.done() + count
        wait_until(lambda: self.failed.is_set() or
                   (self.pushed.value >= pushed and self.done() >= done),
                   seconds, f"{count} more messages to be pushed and completed")

    @staticmethod
    def add(value, count):
        """From any thread or process."""
        with value.get_lock():
            value.value += count
