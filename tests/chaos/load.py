"""Load: the producers and consumers of tests/history beside whatever a fault's test does.

    assert under_load([broker], during)      seed and counts are printed; all must be zero

`during(progress)` breaks things and returns when they work again; the load lasts as long as it does.
"""

from history.run import check, new_seed
from history.workload import Plan

RATE = 3_000  # messages a second: leaves the machine something for the fault


def under_load(brokers, during, rate=RATE, seed=None):
    """True when nothing was lost, doubled, reordered or delivered again after its ack."""
    addresses = [(broker.host, broker.port) for broker in brokers]
    plan = Plan(None, seed=new_seed() if seed is None else seed, push_to=addresses,
                pop_from=addresses, cold=20, faults=True, batch=50, rate=rate)

    def run():
        plan.progress.wait(100)  # it has begun
        during(plan.progress)
        plan.progress.wait(100)  # and goes on afterwards
    return check(plan, run)
