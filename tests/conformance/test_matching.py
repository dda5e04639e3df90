"""The matchers are code that decides whether other tests pass, so they have tests."""

import os
import sys

import pytest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import case_runner  # noqa: E402
from matching import Mismatch, match, substitute  # noqa: E402

UUID = "0190a6e2-5b1c-7abc-8def-0123456789ab"

MATCHES = [
    (None, None), (1, 1), (True, True), ("x", "x"), ([], []), ({}, {}),
    ("$any", None), ("$string", ""), ("$number", 1.5), ("$bool", False), ("$uuid", UUID),
    ("$message_id", UUID), ("$timestamp6", "2026-01-31T23:59:59.123456Z"), ("$text:b", "abc"),
    ({"a": 1, "$rest": "$any"}, {"a": 1, "b": 2}),
    ({"$each": "$number", "$length": 2}, [1, 2]),
    (["$=x", "${x}"], ["same", "same"]), ({"a": "$uuid=id", "b": "x ${id}"}, {"a": UUID, "b": f"x {UUID}"}),
    ("${repeat:ab:3}", "ababab"), (["$=n", "${n}"], [7, 7]),
]
MISMATCHES = [
    (None, 0), (1, True), (1, 1.0), ("1", 1), ([1], [1, 2]), ({}, {"a": 1}), ({"a": None}, {}),
    ("$string", None), ("$number", True), ("$uuid", UUID.upper()), ("$uuid", UUID + "0"),
    ("$message_id", UUID.replace("7abc", "4abc")), ("$timestamp6", "2026-01-31T23:59:59.123Z"),
    ("$text:z", "abc"), ({"$each": 1}, [1, 2]), ({"$each": 1, "$length": 2}, [1]), ({"$each": 1}, {}),
    (["$=x", "${x}"], ["one", "two"]), ("${unknown}", "x"), ([], {}),
]


@pytest.mark.parametrize("expected, actual", MATCHES)
def test_matches(expected, actual):
    match(expected, actual, {})


@pytest.mark.parametrize("expected, actual", MISMATCHES)
def test_mismatches(expected, actual):
    with pytest.raises(Mismatch):
        match(expected, actual, {})


def test_substitutes_everywhere():
    assert substitute({"${k}": ["${v}", "a${v}b", "${repeat:x:2}"]}, {"k": "key", "v": 1}) == {
        "key": [1, "a1b", "xx"]}


@pytest.mark.parametrize("path", case_runner.files(), ids=os.path.basename)
def test_files_are_in_order(path):
    """Unique names, and steps that say what they do and expect."""
    loaded = case_runner.load(path)
    names = [case["name"] for case in loaded]
    assert len(names) == len(set(names))
    for case in loaded:
        for step in case["steps"]:
            kinds = {"request", "await", "pipeline"} & set(step)
            assert len(kinds) == 1, (case["name"], step)
            silent = {"background", "disconnect_after_ms"} & set(step)
            assert bool(silent) != ("expect" in step), (case["name"], step)
