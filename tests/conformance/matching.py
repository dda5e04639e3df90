"""Comparing replies with what a case expects of them.

An expected value is JSON and means itself, except for strings that begin with "$":

    "$any"         anything, null included        "$string" "$number" "$bool"   that type
    "$uuid"        a UUID in lower case           "$message_id"                 a UUIDv7
    "$timestamp6"  2026-01-31T23:59:59.123456Z    "$text:part"                  a string with `part`
    "$uuid=name"   as above, and remembered as `name`; "$=name" remembers anything

"${name}" anywhere in a string is what was remembered; a string that is nothing else keeps the type.
"${repeat:text:count}" is `text` so many times, "${run}" is different in every run.

Objects must have exactly the keys expected; a key "$rest" allows others. An array is matched element
by element, or with {"$each": value, "$length": n} all of them by one.
"""

import json
import re

TYPES = {
    "any": lambda value: True,
    "string": lambda value: isinstance(value, str),
    "number": lambda value: isinstance(value, (int, float)) and not isinstance(value, bool),
    "bool": lambda value: isinstance(value, bool),
}
PATTERNS = {
    "uuid": r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
    "message_id": r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}",
    "timestamp6": r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z",
}
PLACEHOLDER = re.compile(r"\$\{([^}]*)\}")


class Mismatch(Exception):
    """Where and how a reply differs."""


def show(value):
    """The value as JSON, shortened."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 400 else text[:400] + "..."


def resolve(name, variables):
    """What stands for ${name}."""
    if name.startswith("repeat:"):
        text, _, count = name[len("repeat:"):].rpartition(":")
        return text * int(count)
    if name not in variables:
        raise Mismatch(f"nothing was remembered as {name}")
    return variables[name]


def substitute(value, variables):
    """`value` with every ${name} replaced, in keys too."""
    if isinstance(value, str):
        whole = PLACEHOLDER.fullmatch(value)
        if whole:
            return resolve(whole.group(1), variables)
        return PLACEHOLDER.sub(lambda found: str(resolve(found.group(1), variables)), value)
    if isinstance(value, list):
        return [substitute(element, variables) for element in value]
    if isinstance(value, dict):
        return {substitute(key, variables): substitute(member, variables)
                for key, member in value.items()}
    return value


def match(expected, actual, variables, where="body"):
    """Raises Mismatch unless `actual` is as expected; remembers what is to be remembered."""
    if isinstance(expected, str):
        return match_text(expected, actual, variables, where)
    if isinstance(expected, dict) and "$each" in expected:
        return match_each(expected, actual, variables, where)
    if isinstance(expected, dict) and isinstance(actual, dict):
        return match_object(expected, actual, variables, where)
    if isinstance(expected, list) and isinstance(actual, list):
        if len(expected) != len(actual):
            raise Mismatch(f"{where}: {len(expected)} elements expected, there are {len(actual)}")
        for index, (left, right) in enumerate(zip(expected, actual)):
            match(left, right, variables, f"{where}[{index}]")
        return None
    if type(expected) is not type(actual) or expected != actual:
        raise Mismatch(f"{where}: expected {show(expected)}, got {show(actual)}")
    return None


def match_text(expected, actual, variables, where):
    """An expected string: itself, or a matcher."""
    if expected.startswith("$text:"):
        part = substitute(expected[len("$text:"):], variables)
        if not isinstance(actual, str) or part not in actual:
            raise Mismatch(f"{where}: expected a string with {show(part)}, got {show(actual)}")
        return
    if expected.startswith("$") and not expected.startswith("${"):
        kind, _, name = expected[1:].partition("=")
        if not is_kind(kind or "any", actual):
            raise Mismatch(f"{where}: expected {expected}, got {show(actual)}")
        if name:
            variables[name] = actual
        return
    wanted = substitute(expected, variables)
    if type(wanted) is not type(actual) or wanted != actual:
        raise Mismatch(f"{where}: expected {show(wanted)}, got {show(actual)}")


def is_kind(kind, value):
    """Whether `value` is what "$kind" asks for."""
    if kind in TYPES:
        return TYPES[kind](value)
    return isinstance(value, str) and re.fullmatch(PATTERNS[kind], value) is not None


def match_each(expected, actual, variables, where):
    """Every element of an array by one expected value."""
    if not isinstance(actual, list):
        raise Mismatch(f"{where}: expected an array, got {show(actual)}")
    if "$length" in expected and len(actual) != expected["$length"]:
        raise Mismatch(f"{where}: {expected['$length']} elements expected, there are {len(actual)}")
    for index, element in enumerate(actual):
        match(expected["$each"], element, variables, f"{where}[{index}]")


def match_object(expected, actual, variables, where):
    """The same keys, in any order: the order of the bytes is the unit tests' business."""
    for key, value in expected.items():
        if key == "$rest":
            continue
        if key not in actual:
            raise Mismatch(f"{where}.{key}: missing")
        match(value, actual[key], variables, f"{where}.{key}")
    extra = sorted(set(actual) - set(expected))
    if extra and "$rest" not in expected:
        raise Mismatch(f"{where}: unexpected {', '.join(extra)}")
