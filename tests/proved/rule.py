"""What an entry of the tables of proved rules is: a rule of the design, how it is taken out, and which test
then fails."""
import os
from dataclasses import dataclass

REPOSITORY = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


@dataclass(frozen=True)
class Edit:
    """A piece of a file that occurs exactly once, and what stands there without the rule."""
    file: str
    old: str
    new: str


@dataclass(frozen=True)
class Rule:
    """`tests` must each fail, and show `seen`, once `edits` are made (and `sql` is run, for what no procedure
    says). Without them they pass."""
    name: str
    text: str
    edits: tuple
    tests: tuple
    seen: str
    sql: str = ''


def edited(edits):
    """The text of each file after the edits; fails when a piece is not there exactly once."""
    texts = {}
    for edit in edits:
        path = os.path.join(REPOSITORY, edit.file)
        if path not in texts:
            with open(path, encoding='utf-8') as file:
                texts[path] = file.read()
        found = texts[path].count(edit.old)
        assert found == 1, f'{edit.file}: found {found} times, expected once:\n{edit.old}'
        texts[path] = texts[path].replace(edit.old, edit.new)
    return texts
