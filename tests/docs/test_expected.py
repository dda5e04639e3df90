"""The reader of pages and the comparison of output find what they say they find."""

import pytest

from docs.expected import same
from docs.page import blocks

FENCE = "`" * 3


def test_blocks_with_their_marks():
    text = f"Text\n\n<!-- not run: it builds -->\n{FENCE}sh\nmake\n{FENCE}\n<!-- output -->\n{FENCE}\nx\n{FENCE}\n"
    first, second = blocks(text)
    assert (first.line, first.language, first.text, first.marks) == (4, "sh", "make\n", {"not run": "it builds"})
    assert (second.line, second.marks) == (8, {"output": None})


@pytest.mark.parametrize("mark", ["not run", "skip: why", "output: x"])
def test_a_mark_that_is_none_is_an_error(mark):
    with pytest.raises(AssertionError):
        blocks(f"<!-- {mark} -->\n{FENCE}sh\nx\n{FENCE}\n")


def test_a_fence_without_an_end_is_an_error():
    with pytest.raises(AssertionError):
        blocks(f"{FENCE}sh\nx\n")


@pytest.mark.parametrize("language, shown, printed, expected", [
    ("", "a ... c\n", "a  b c", True),
    ("", "a\n...\nd\n", "a\nb\nc\nd\n", True),
    ("", "a.c\n", "abc\n", False),
    ("", "a\n", "a\nb\n", False),
    ("json", '{"a": 1, "b": "..."}', '{"b":[2],"a":1}', True),
    ("json", '{"a": 1}', '{"a": 1, "b": 2}', False),
    ("json", '{"a": 1, "...": "..."}', '{"a": 1, "b": 2}', True),
    ("json", '{"a": 1}', '{"a": true}', False),
    ("json", '[{"id": "0190...", "n": 2}]', '[{"id": "0190-1", "n": 2}]', True),
    ("json", '[{"id": "0190..."}]', '[{"id": "0191-1"}]', False),
    ("json", '["a"]', '["a", "b"]', False),
    ("json", '{}', 'no json', False),
])
def test_what_is_shown_and_what_is_printed(language, shown, printed, expected):
    assert same(language, shown, printed) is expected
