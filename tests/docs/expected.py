"""Compares what a command printed with what the page shows."""

import json
import re


def _as_pattern(text):
    return ".*?".join(re.escape(part) for part in text.split("..."))


def _squeeze(text):
    return "\n".join(" ".join(line.split()) for line in text.strip().split("\n"))


def same_text(shown, printed):
    """Line by line, spaces squeezed; `...` stands for anything, also for several lines."""
    return re.fullmatch(_as_pattern(_squeeze(shown)), _squeeze(printed), re.DOTALL) is not None


def same_json(shown, value):
    """The same members; the string "..." is any value, and `...` within a string any part of it."""
    if shown == "...":
        return True
    if isinstance(shown, dict):
        if not isinstance(value, dict):
            return False
        rest = {name for name in value if name not in shown}
        return (not rest or "..." in shown) and all(
            name in value and same_json(member, value[name]) for name, member in shown.items() if name != "...")
    if isinstance(shown, list):
        return isinstance(value, list) and len(shown) == len(value) and all(map(same_json, shown, value))
    if isinstance(shown, str):
        return isinstance(value, str) and re.fullmatch(_as_pattern(shown), value, re.DOTALL) is not None
    return type(shown) is type(value) and shown == value


def same(language, shown, printed):
    """Does the page show what was printed?"""
    if language != "json":
        return same_text(shown, printed)
    try:
        return same_json(json.loads(shown), json.loads(printed))
    except ValueError:
        return False
