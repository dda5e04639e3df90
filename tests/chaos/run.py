"""Breaks things at random under load, and counts what was lost.

    /usr/bin/python3 tests/chaos/run.py [--seconds 60] [--seed S] [--brokers 1]
    /usr/bin/python3 tests/chaos/run.py --broker-kills 500 --postgres-kills 100

Without numbers of faults every kind is drawn until the seconds are over; with numbers exactly those
happen, in an order that the seed decides, and there is no other end. After each fault the run waits until
the brokers are ready and messages have moved; now and then, on purpose, it does not wait, so that a fault
meets what the one before it left. Beside the history (tests/history) a relay moves messages by
transaction. The seed replays the faults and the choices of the clients, not what the machine makes of
them. Prints the counts and exits with 1 unless all of what must not happen is zero.
"""

import argparse
import collections
import os
import random
import signal
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from chaos.relay import Relay  # noqa: E402
from history.run import check, new_seed  # noqa: E402
from history.workload import Plan  # noqa: E402
from support.broker import Broker  # noqa: E402
from support.postgres import Postgres  # noqa: E402
from support.proxy import Proxy  # noqa: E402

# A connection in a black hole is given up soon, or the run would mostly wait for that.
SETTINGS = ("--num-workers", "2", "--db-statement-timeout", "2000", "--db-in-flight-deadline-ms",
            "2500", "--db-connection-timeout", "1000", "--file-buffer-after-ms", "200",
            "--log-level", "warn")
AT_ONCE = 0.15      # share of faults that do not wait for the end of the one before
MESSAGES_MAX = 300  # that move between two faults


class World:
    """PostgreSQL, brokers behind one proxy, and what can be done to them."""

    def __init__(self, brokers, rng):
        self.rng = rng
        self.things = []
        self.postgres = self._add(Postgres())
        self.postgres.start()
        self.proxy = self._add(Proxy(self.postgres.host, self.postgres.port))
        env = self.postgres.env(self.proxy.host, self.proxy.port)
        self.brokers = [self._add(Broker(*SETTINGS, env=env)).start() for _ in range(brokers)]

    def _add(self, thing):
        self.things.append(thing)
        return thing

    def close(self, show_logs):
        """Ends everything."""
        for thing in reversed(self.things):
            if show_logs and hasattr(thing, "log"):
                print(f"---- log of {type(thing).__name__}\n{thing.log()[-20000:]}", flush=True)
            thing.close()

    def wait_ready(self):
        """Everything is whole again."""
        for broker in self.brokers:
            broker.wait_for("/readyz", 200, 120)

    # ---- faults; each leaves everything running, though perhaps not ready

    def broker_kill(self):
        """kill -9 and a new process at once."""
        broker = self.rng.choice(self.brokers)
        broker.kill9()
        broker.start(until=None)

    def broker_term(self):
        """An orderly restart."""
        broker = self.rng.choice(self.brokers)
        code = broker.stop(signal.SIGTERM, 120)
        assert code == 0, f"the broker stopped with {code}"
        broker.start(until=None)

    def postgres_kill(self):
        """kill -9 of every process."""
        self.postgres.kill9()
        self.postgres.start()

    def postgres_immediate(self):
        """As a crash, by itself."""
        self.postgres.restart("immediate")

    def postgres_fast(self):
        """An orderly restart."""
        self.postgres.restart("fast")

    def terminate(self):
        """Every connection is ended by the server."""
        self.postgres.terminate_backends()

    def cut(self):
        """Every connection is reset; at times what PostgreSQL answered last is lost with it."""
        if self.rng.random() < 0.5:
            self.proxy.freeze(replies_only=True)
            time.sleep(self.rng.uniform(0.0, 0.2))
        self.proxy.cut()
        self.proxy.forward()

    def black_hole(self):
        """Nothing passes for a while; at times longer than the broker waits."""
        self.proxy.freeze(replies_only=self.rng.random() < 0.5)
        time.sleep(self.rng.choice((0.3, 1.0, 4.0)))
        self.proxy.forward()


FAULTS = {"broker_kill": 4, "broker_term": 2, "postgres_kill": 2, "postgres_immediate": 1,
          "postgres_fast": 1, "terminate": 3, "cut": 3, "black_hole": 1}  # and how often
OPTIONS = {"broker_kill": "--broker-kills", "broker_term": "--broker-terms",
           "postgres_kill": "--postgres-kills", "postgres_immediate": "--postgres-immediates",
           "postgres_fast": "--postgres-restarts", "terminate": "--terminations", "cut": "--cuts",
           "black_hole": "--black-holes"}


def schedule(arguments, rng):
    """The faults, in order."""
    numbers = {name: getattr(arguments, name) for name in FAULTS}
    if any(numbers.values()):
        faults = [name for name, count in numbers.items() for _ in range(count)]
        rng.shuffle(faults)
        yield from faults
        return
    end = time.monotonic() + arguments.seconds
    while time.monotonic() < end:
        yield rng.choices(list(FAULTS), list(FAULTS.values()))[0]


def run(arguments):
    """True when nothing happened that must not."""
    rng = random.Random(f"{arguments.seed}/faults")
    world = World(arguments.brokers, rng)
    addresses = [(broker.host, broker.port) for broker in world.brokers]
    plan = Plan(None, seed=arguments.seed, push_to=addresses, pop_from=addresses, cold=20,
                faults=True, batch=50, rate=arguments.rate, consumers=2)
    done = collections.Counter()
    relay = None

    def during():
        plan.progress.wait(100)
        said = time.monotonic()
        for fault in schedule(arguments, rng):
            at_once = rng.random() < AT_ONCE
            messages = rng.randint(1, MESSAGES_MAX)
            getattr(world, fault)()
            done[fault] += 1
            if plan.progress.failed.is_set():
                return
            if not at_once:
                world.wait_ready()
                plan.progress.wait(messages)
            if time.monotonic() - said > 30:
                said = time.monotonic()
                print(f"chaos: {dict(done)} pushed={plan.progress.pushed.value}", flush=True)
        world.wait_ready()
        plan.progress.wait(100)

    good = False
    try:
        relay = Relay(addresses)
        history = check(plan, during)
        relayed = relay.finish()
        good = history and not any(relayed)
        counts = " ".join(f"{name}={done[name]}" for name in FAULTS)
        print(f"chaos: {counts} seed={arguments.seed} {'ok' if good else 'FAILED'}", flush=True)
        return good
    finally:
        if relay:
            relay.close()
        world.close(show_logs=not good)


def parse(argv=None):
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--brokers", type=int, default=1)
    parser.add_argument("--rate", type=int, default=1_500, help="messages a second")
    for name, option in OPTIONS.items():
        parser.add_argument(option, dest=name, type=int, default=0, metavar="N",
                            help=getattr(World, name).__doc__)
    arguments = parser.parse_args(argv)
    if arguments.seed is None:
        arguments.seed = new_seed()
    return arguments


def main():
    """Runs it."""
    arguments = parse()
    print(f"chaos: seed={arguments.seed}", flush=True)
    return 0 if run(arguments) else 1


if __name__ == "__main__":
    sys.exit(main())
