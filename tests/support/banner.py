"""What `queen serve` prints for the person who has started it."""

import re

from .process import wait_until

LINES = re.compile(r"^Queen (?P<version>\S+) is ready at (?P<url>\S+)\n"
                   r"  data  (?P<data>.*)\n"
                   r"  push  (?P<push>.*)\n"
                   r"  pop   (?P<pop>.*)\n"
                   r"  psql  (?P<psql>.*)\n\n", re.MULTILINE)


def read_banner(broker):
    """The parts of its banner by name, and `before`: what stands in front of it."""
    found = wait_until(lambda: LINES.search(broker.log()), 60, "the banner")
    return {**found.groupdict(), "before": broker.log()[:found.start()].strip(),
            "after": lambda: broker.log()[found.end():]}
