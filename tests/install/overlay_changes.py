"""Prints the paths that the upper directory of an overlay changes, but for the notes that every installation leaves."""

import filecmp
import os
import stat
import sys

NOTES = ("/var/lib/dpkg", "/var/cache", "/var/log", "/var/backups", "/run", "/tmp", "/root")


def _differs(inside, outside):
    mode = os.lstat(inside).st_mode
    if stat.S_ISCHR(mode):
        return True  # how an overlay marks what was removed
    if not os.path.lexists(outside):
        return True
    if stat.S_ISLNK(mode):
        return os.readlink(inside) != os.readlink(outside)
    return stat.S_ISREG(mode) and not filecmp.cmp(inside, outside, shallow=False)


def _print_changes(upper):
    for directory, directories, files in os.walk(upper):
        place = directory[len(upper):] or "/"
        directories[:] = [name for name in directories if os.path.join(place, name) not in NOTES]
        for name in directories + files:
            path = os.path.join(place, name)
            if _differs(upper + path, path):
                print(path)


if __name__ == "__main__":
    _print_changes(sys.argv[1])
