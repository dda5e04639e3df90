"""The System V shared memory of a server that was killed: it outlives the server, and the machine has 4,096 of them.

A server notes the number of its segment in line 7 of postmaster.pid. Numbers are used again, so it is given back only
when the segment is still the one which that server made and nobody is attached to it.
"""

import os

from .process import run


def segments():
    """{number: (pid of its maker, how many are attached)} of all segments of this machine."""
    with open("/proc/sysvipc/shm", encoding="utf-8") as file:
        rows = [line.split() for line in file.read().splitlines()[1:]]
    return {int(row[1]): (int(row[4]), int(row[6])) for row in rows}


def segment_of(cluster_directory):
    """(pid, number of the segment) of the server that last ran there and was not shut down, or None."""
    try:
        with open(os.path.join(cluster_directory, "postmaster.pid"), encoding="utf-8") as file:
            lines = file.read().splitlines()
        return int(lines[0]), int(lines[6].split()[1])
    except (OSError, ValueError, IndexError):
        return None


def give_back(cluster_directory):
    """Removes the segment of a dead server. To be called before its directory is removed."""
    found = segment_of(cluster_directory)
    if found and segments().get(found[1]) == (found[0], 0):
        run(["ipcrm", "-m", str(found[1])], check=False)
