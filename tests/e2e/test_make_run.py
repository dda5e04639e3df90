"""What `make run` says while it builds: few lines, how much there is and how far it is, and the compiler's errors."""

import os
import shutil
import subprocess

import pytest

from support.broker import REPOSITORY

# Stands in for ninja: so many steps as the file `steps` says; the last fails if the file `broken` is there.
NINJA = """#!/bin/sh
cd build
steps=$(cat steps)
case " $* " in
  *" commands "*) for n in $(seq $steps); do echo "g++ -O2 -o $n.cc.o -c $n.cc"; done ;;
  *) echo "ninja: Entering directory build"
     if [ $steps = 0 ]; then echo "ninja: no work to do."; fi
     for n in $(seq $steps); do echo "[$n/$steps] Building CXX object $n.cc.o"; touch $n.cc.o; done
     if [ -f broken ]; then echo "x.cc:1: error: it is wrong"; exit 1; fi ;;
esac
"""
CMAKE = """#!/bin/sh
mkdir -p build && touch build/build.ninja && echo "-- a line of cmake"
"""


@pytest.fixture
def project(directory):
    """A directory with scripts/build and programs that play the build."""
    for folder in ("bin", "scripts", "build"):
        os.mkdir(os.path.join(directory, folder))
    shutil.copy(os.path.join(REPOSITORY, "scripts", "build"), os.path.join(directory, "scripts"))
    for name, text in (("ninja", NINJA), ("cmake", CMAKE)):
        path = os.path.join(directory, "bin", name)
        with open(path, "w", encoding="ascii") as file:
            file.write(text)
        os.chmod(path, 0o755)
    return directory


def build(project, steps):
    with open(os.path.join(project, "build", "steps"), "w", encoding="ascii") as file:
        file.write(f"{steps}\n")
    path = f"{os.path.join(project, 'bin')}:{os.environ['PATH']}"
    done = subprocess.run([os.path.join(project, "scripts", "build"), "queen"], check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60,
                          env={"PATH": path, "JOBS": "2"})
    return done.returncode, done.stdout.splitlines()


def test_a_first_build_says_how_much_and_how_far(project):
    tenths = [f"  {tenth}0 %" for tenth in range(1, 11)]
    code, lines = build(project, 200)
    assert code == 0
    assert lines[0] == "Preparing the build"
    assert "200 files" in lines[1] and " min " in lines[1] and "first time" in lines[1]
    assert lines[2:] == tenths
    assert build(project, 200) == (0, tenths), "built before: only how far it is"


def test_nothing_to_do_says_nothing(project):
    build(project, 0)
    assert build(project, 0) == (0, [])


def test_an_error_of_the_compiler_is_shown_and_is_an_error(project):
    open(os.path.join(project, "build", "broken"), "w", encoding="ascii").close()
    code, lines = build(project, 3)
    assert code != 0
    assert "Building Queen: 3 files" in lines[1]
    assert lines[2:] == ["x.cc:1: error: it is wrong"]


def test_make_run_installs_builds_and_starts(project):
    """In this order, with a line before the broker's own."""
    shutil.copy(os.path.join(REPOSITORY, "Makefile"), project)
    for name, text in (("scripts/setup", 'echo "setup $*"'), ("scripts/build", 'echo "build $*"'),
                       ("build/queen", 'echo "queen $*"')):
        path = os.path.join(project, name)
        with open(path, "w", encoding="ascii") as file:
            file.write(f"#!/bin/sh\n{text}\n")
        os.chmod(path, 0o755)
    done = subprocess.run(["make", "-s", "-C", project, "run"], check=True, stdout=subprocess.PIPE,
                          text=True, timeout=60)
    assert done.stdout.splitlines() == ["setup build run", "build queen",
                                        "Starting Queen (Ctrl-C stops it)", "queen serve"]
