"""A page of documentation as blocks of code, and what the page says about each of them.

A fence is marked by comments that stand directly in front of it, which readers do not see:

    <!-- not run: why -->        it cannot be run here
    <!-- needs: command -->      it is run when this command succeeds, and else left out aloud
    <!-- fails -->               it ends with an error, on purpose
    <!-- output -->              what the block before it prints; `...` stands for anything
    <!-- file: name -->          it is not run but written to a file, for a block that follows
"""

import re
from dataclasses import dataclass, field

MARKS = {"not run": True, "needs": True, "fails": False, "output": False, "file": True}  # with a value?
MARK = re.compile(r"^\s*<!-- *([a-z ]+?)(?:: *(.*?))? *-->\s*$")
FENCE = re.compile(r"^```(\w*)\s*$")


@dataclass
class Block:
    """One fence: its first line's number, its language, its text, its marks by name."""
    line: int
    language: str
    text: str
    marks: dict = field(default_factory=dict)


def _marks_before(lines, number, page):
    marks = {}
    for line in reversed(lines[:number]):
        match = MARK.match(line)
        if not match:
            break
        name, value = match.groups()
        assert name in MARKS, f"{page}:{number}: `{name}` is no mark; there are {', '.join(MARKS)}"
        assert bool(value) == MARKS[name], f"{page}:{number}: `{name}` {'needs' if MARKS[name] else 'has no'} value"
        marks[name] = value
    return marks


def blocks(text, page="the page"):
    """The blocks of a page, in order."""
    lines = text.split("\n")
    found = []
    number = 0
    while number < len(lines):
        match = FENCE.match(lines[number])
        if match:
            end = next((i for i in range(number + 1, len(lines)) if lines[i] == "```"), None)
            assert end is not None, f"{page}:{number + 1}: a fence without an end"
            found.append(Block(number + 1, match.group(1), "\n".join(lines[number + 1:end]) + "\n",
                               _marks_before(lines, number, page)))
            number = end
        number += 1
    return found
