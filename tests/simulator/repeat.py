#!/usr/bin/env python3
"""simulator/repeat: the same seed is the same run, to the last line."""
import re
import subprocess
import sys


def run(simulator):
    result = subprocess.run([simulator, "--seed", "11", "--worlds", "2"], capture_output=True,
                            text=True, check=False)
    print(result.stdout)
    match = re.search(r"hash ([0-9a-f]{16})", result.stdout)
    return match.group(1) if match and result.returncode == 0 else None


def main():
    first = run(sys.argv[1])
    return 0 if first is not None and first == run(sys.argv[1]) else 1


if __name__ == "__main__":
    sys.exit(main())
