#!/usr/bin/env python3
"""Runs the conformance cases against a broker that is already up.

    run.py http://127.0.0.1:6632 [-k text] [file ...]

Prints every failing case with what was expected and what came; exits with 1 if there is any.
"""

import argparse
import os
import sys

import case_runner


def main():
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("url", help="base URL of the broker")
    parser.add_argument("files", nargs="*", help="case files (default: all)")
    parser.add_argument("-k", default="", metavar="TEXT", help="only cases whose name contains TEXT")
    options = parser.parse_args()
    passed = failed = 0
    for path in options.files or case_runner.files():
        for case in case_runner.load(path):
            if options.k not in case["name"]:
                continue
            problem = case_runner.run_case(options.url, case)
            if problem is None:
                passed += 1
                continue
            failed += 1
            print(f"FAILED {os.path.basename(path)}: {case['name']}\n  {problem}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
