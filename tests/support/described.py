"""Holding requests and replies to docs/openapi.json.

Every reply must be described: its status, its content type and its body, to the last field. A request's
body must be described where it was accepted as a whole; what a 4xx or `success: false` answers may be
anything.
"""

import json
import os
from urllib.parse import parse_qs, unquote, urlsplit

import jsonschema
from jsonschema.exceptions import best_match

DOCUMENT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs", "openapi.json")
BYTES_SHOWN = 400
# What a path that is not described may be answered.
UNROUTED = {400, 404, 405, 408, 414, 431}


class NotDescribed(Exception):
    """Where and how a request or a reply differs from the document."""


def show(value):
    """The value as JSON, shortened."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= BYTES_SHOWN else text[:BYTES_SHOWN] + "..."


def load():
    """The document."""
    with open(DOCUMENT, encoding="utf-8") as file:
        return json.load(file)


def refused(body):
    """Whether a reply to an accepted request says that some of it was not."""
    if isinstance(body, list):
        return any(refused(element) for element in body)
    return isinstance(body, dict) and (body.get("success") is False or body.get("status") == "failed")


class Description:
    """What the document says about requests and replies."""

    def __init__(self, document):
        self.document = document
        self.paths = [(path.split("/"), item) for path, item in document["paths"].items()]
        self.validators = {}

    def operation(self, method, target):
        """The operation that serves a request, or None. Words win over parameters, as in the router."""
        words = [unquote(word) for word in urlsplit(target).path.split("/")]
        method = "get" if method == "HEAD" else method.lower()
        found = []
        for template, item in self.paths:
            if method not in item or len(template) != len(words):
                continue
            open_words = [part.startswith("{") for part in template]
            if all(part == word or (is_open and word)
                   for part, is_open, word in zip(template, open_words, words)):
                found.append((open_words, item[method]))
        return min(found, key=lambda pair: pair[0])[1] if found else None

    def inline(self, value):
        """The schema without references. Ours do not refer to themselves."""
        if isinstance(value, list):
            return [self.inline(element) for element in value]
        if not isinstance(value, dict):
            return value
        if "$ref" not in value:
            return {key: self.inline(member) for key, member in value.items()}
        target = self.document
        for part in value["$ref"][2:].split("/"):
            target = target[part]
        beside = {key: member for key, member in value.items() if key != "$ref"}
        return {**self.inline(target), **self.inline(beside)}

    def validate(self, schema, value, what):
        """Raises NotDescribed with the place and the reason."""
        key = json.dumps(schema, sort_keys=True)
        if key not in self.validators:
            self.validators[key] = jsonschema.Draft202012Validator(self.inline(schema))
        error = best_match(self.validators[key].iter_errors(value))
        if error is not None:
            raise NotDescribed(f"docs/openapi.json does not describe {what}: at {error.json_path}: "
                           f"{error.message[:300]}\n    it is {show(value)}")

    def check(self, method, target, body, reply):
        """Raises NotDescribed unless the reply, and the body if it was accepted, are described."""
        self.check_reply(method, target, reply)
        self.check_request(method, target, body, reply)

    def check_reply(self, method, target, reply):
        """Raises NotDescribed unless the reply is described."""
        if method == "OPTIONS":
            return
        what = f"this reply to {method} {target}"
        operation = self.operation(method, target)
        described = self.described_reply(operation, method, target, reply)
        content = described.get("content", {})
        if method == "HEAD":
            return
        if not content:
            if reply.body:
                raise NotDescribed(f"docs/openapi.json says that {what} has no body: {reply.body[:BYTES_SHOWN]!r}")
            return
        kind = reply.headers.get("content-type", "").partition(";")[0]
        if kind not in {name.partition(";")[0] for name in content}:
            raise NotDescribed(f"docs/openapi.json does not describe the content type {kind} of {what}")
        text = reply.body.decode("utf-8")
        schema = next(media["schema"] for name, media in content.items() if name.startswith(kind))
        body = json.loads(text) if kind == "application/json" else text
        self.validate(schema, body, what)
        if operation:
            self.check_page(operation, target, body, what)

    def check_page(self, operation, target, body, what):
        """A page that was not asked for has the size that is described."""
        if not isinstance(body, dict) or "pagination" not in body or "limit" in parse_qs(urlsplit(target).query):
            return
        for parameter in map(self.inline, operation.get("parameters", [])):
            size = body["pagination"]["limit"]
            if parameter["name"] == "limit" and parameter["schema"].get("default", size) != size:
                raise NotDescribed(f"docs/openapi.json has another default for limit: {what} is a page of {size}")

    def described_reply(self, operation, method, target, reply):
        """What the document says about replies of this status."""
        replies = operation["responses"] if operation else {}
        if str(reply.status) in replies:
            return self.inline(replies[str(reply.status)])
        otherwise = self.inline(replies["default"] if operation else
                                {"$ref": "#/components/responses/HttpError"})
        if reply.status not in (otherwise["x-statuses"] if operation else UNROUTED):
            raise NotDescribed(f"docs/openapi.json does not describe the status {reply.status} of "
                           f"{method} {target}: {reply.body[:BYTES_SHOWN]!r}")
        return otherwise

    def check_request(self, method, target, body, reply):
        """Raises NotDescribed if a body was accepted that is not described."""
        operation = self.operation(method, target)
        if not operation or not 200 <= reply.status < 300:
            return
        is_json = reply.headers.get("content-type", "").startswith("application/json")
        if refused(json.loads(reply.body) if reply.body and is_json else None):
            return
        described = operation.get("requestBody")
        what = f"the body of {method} {target}"
        if not body:
            if described and described.get("required"):
                raise NotDescribed(f"docs/openapi.json says that {what} is required, but it was not")
            return
        if described is None:
            return
        self.validate(described["content"]["application/json"]["schema"], json.loads(body), what)
