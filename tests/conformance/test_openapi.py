"""The description of the API: current, valid, complete, and able to refuse what it does not describe."""

import copy
import json
import os
import re
import subprocess
import sys

import jsonschema
import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [HERE, os.path.dirname(HERE)]

import case_runner  # noqa: E402
from matching import PLACEHOLDER  # noqa: E402
from openapi_rules import Rules  # noqa: E402
from support import described  # noqa: E402

DOCUMENT = described.load()
DESCRIPTION = described.Description(DOCUMENT)
ROLES = {"none", "read-only", "read-write", "admin"}


def operations():
    """(METHOD, path, operation) of all."""
    for path, item in DOCUMENT["paths"].items():
        for method, operation in item.items():
            yield method.upper(), path, operation


def read(path):
    """A file of the repository."""
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


class FakeReply:
    """As the case runner sees replies."""

    def __init__(self, status, body=b"", kind="application/json"):
        self.status = status
        self.body = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.headers = {"content-type": kind} if self.body else {}


# ---- the document itself

def test_the_generated_files_are_current():
    """docs/openapi.json and docs/http-api.md are what openapi/ says."""
    run = subprocess.run([os.path.join(ROOT, "scripts", "openapi"), "--check"],
                         capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr


def test_the_document_is_valid():
    """By the rules of OpenAPI 3.1."""
    assert Rules(DOCUMENT).check() == []


def test_the_rules_find_what_is_wrong():
    """Each fault is found, with its place."""
    def problems_of(change):
        document = copy.deepcopy(DOCUMENT)
        change(document, document["paths"]["/api/v1/push"]["post"])
        return "\n".join(Rules(document).check())
    assert "POST /api/v1/push: colour is no field" in problems_of(lambda _, push: push.update(colour=1))
    assert "summary is missing" in problems_of(lambda _, push: push.pop("summary"))
    assert "the operationId ack is there twice" in problems_of(lambda _, push: push.update(operationId="ack"))
    assert "Nowhere leads nowhere" in problems_of(
        lambda _, push: push["responses"].update({"400": {"$ref": "#/components/responses/Nowhere"}}))
    assert "Message: optional is no keyword" in problems_of(
        lambda document, _: document["components"]["schemas"]["Message"].update(optional=["error"]))
    assert "the path and its parameters differ" in problems_of(
        lambda document, push: document["paths"].update({"/a/{b}": {"post": {**push, "operationId": "a"}}}))


def test_every_operation_names_its_role():
    """Authentication will ask for it. Only GETs, and a POST that reads, are for readers."""
    for method, path, operation in operations():
        role = operation["x-queen-role"]
        assert role in ROLES, path
        if role in ("none", "read-only"):
            assert method == "GET" or operation["operationId"] == "getStreamState", path
        assert operation.get("x-queen-ours", True) is True, path


def test_examples_fit_their_schemas():
    """What a reader copies works, and every body that is not an error has one."""
    missing = []
    for method, path, operation in operations():
        for parameter in map(DESCRIPTION.inline, operation.get("parameters", [])):
            if "example" in parameter:
                DESCRIPTION.validate(parameter["schema"], parameter["example"], f"{path} {parameter['name']}")
        for status, part in {"request": operation.get("requestBody", {}), **operation["responses"]}.items():
            for media in DESCRIPTION.inline(part).get("content", {}).values():
                if "example" in media:
                    DESCRIPTION.validate(media["schema"], media["example"], f"the example of {method} {path} {status}")
                elif status < "300" or status == "request":
                    missing.append(f"{method} {path} {status}")
    assert missing == ["GET /openapi.json 200"]


def test_replies_are_closed():
    """A reply has no field that is not described. Only one is open: the document, which the rules check."""
    def open_objects(schema, place):
        if isinstance(schema, list):
            return [found for element in schema for found in open_objects(element, place)]
        if not isinstance(schema, dict):
            return []
        is_object = "properties" in schema or "object" in schema.get("type", "")
        found = [place] if is_object and schema.get("additionalProperties", True) is True else []
        for key, member in schema.items():
            if key not in ("example", "examples", "const", "enum", "default"):
                found += open_objects(member, f"{place}.{key}")
        return found
    for method, path, operation in operations():
        if path == "/openapi.json":
            continue
        for status, reply in operation["responses"].items():
            for media in DESCRIPTION.inline(reply).get("content", {}).values():
                assert open_objects(media["schema"], f"{method} {path} {status}") == []


def test_errors_are_the_ones_of_the_broker():
    """Codes and statuses in the document and in docs/http-errors.md are those of error_codes.h."""
    rows = re.findall(r'X\(k\w+, "(\w+)", "\w*", (\d+), (true|false)', read("src/base/error_codes.h"))
    errors = {(status, name, "yes" if again == "true" else "no") for name, status, again in rows if int(status) >= 400}
    assert set(DOCUMENT["components"]["schemas"]["Error"]["properties"]["code"]["enum"]) == {
        name for _, name, _ in errors}
    assert set(re.findall(r"^\| (\d+) \| `(\w+)` \| (\w+) \|", read("docs/http-errors.md"), re.MULTILINE)) == errors


def test_every_operation_has_a_case_that_succeeds():
    """What is described is also tried."""
    tried = set()
    for path in case_runner.files():
        for case in case_runner.load(path):
            background = {step["background"]: step["request"] for step in case["steps"] if "background" in step}
            for step in case["steps"]:
                if "expect" not in step:
                    continue
                asked = step.get("pipeline") or [step.get("request") or background[step["await"]]]
                expected = step["expect"] if "pipeline" in step else [step["expect"]]
                for request, expect in zip(asked, expected):
                    target = PLACEHOLDER.sub("x", request["path"])
                    operation = DESCRIPTION.operation(request["method"], target)
                    if operation and expect["status"] < 300:
                        tried.add(operation["operationId"])
    missing = sorted({operation["operationId"] for _, _, operation in operations()} - tried)
    assert not missing, f"no conformance case succeeds with {', '.join(missing)}"


# ---- holding replies to it

GOOD = {"deleted": True, "queue": "q", "existed": False}


def refusal(method, target, reply):
    """Why the reply is not as described; "" if it is."""
    try:
        DESCRIPTION.check_reply(method, target, reply)
    except described.NotDescribed as problem:
        return str(problem)
    return ""


@pytest.mark.parametrize("method, target, reply, part", [
    ("DELETE", "/api/v1/resources/queues/q", FakeReply(200, GOOD), ""),
    ("DELETE", "/api/v1/resources/queues/a%2Fb", FakeReply(200, GOOD), ""),
    ("DELETE", "/api/v1/resources/queues/q", FakeReply(200, {**GOOD, "more": 1}), "'more' was unexpected"),
    ("DELETE", "/api/v1/resources/queues/q", FakeReply(200, {"deleted": True}), "is a required property"),
    ("DELETE", "/api/v1/resources/queues/q", FakeReply(200, {**GOOD, "queue": 5}), "at $.queue"),
    ("DELETE", "/api/v1/resources/queues/q", FakeReply(202, GOOD), "the status 202"),
    ("DELETE", "/api/v1/resources/queues/q", FakeReply(409, {"error": "x", "code": "conflict"}), "the status 409"),
    ("DELETE", "/api/v1/resources/queues/q", FakeReply(200, GOOD, "text/html"), "content type text/html"),
    ("DELETE", "/api/v1/resources/queues/q", FakeReply(400, {"error": "x", "code": "invalid_request"}), ""),
    ("DELETE", "/api/v1/resources/queues/q", FakeReply(400, {"error": "x"}), "is a required property"),
    ("DELETE", "/api/v1/resources/queues/q", FakeReply(400, {"error": "x", "code": "forbidden"}), "at $.code"),
    ("DELETE", "/api/v1/resources/queues/q", FakeReply(500, {"error": "x", "code": "internal"}), ""),
    ("GET", "/api/v1/pop/queue/q", FakeReply(204), ""),
    ("GET", "/api/v1/pop/queue/q", FakeReply(204, b"{}"), "has no body"),
    ("GET", "/nowhere", FakeReply(404, {"error": "x", "code": "route_not_found"}), ""),
    ("GET", "/nowhere", FakeReply(200, {}), "the status 200"),
])
def test_replies_that_are_not_described_are_found(method, target, reply, part):
    """The text says where and why."""
    found = refusal(method, target, reply)
    assert (part in found) if part else found == ""


def test_one_of_several_shapes_is_told_by_its_best_fit():
    """A push that answers with a field nobody described."""
    entry = {"index": 0, "transaction_id": "t", "status": "duplicate", "queueName": "q",
             "message_id": "019a8b5e-7c00-7000-8000-000100000000"}
    assert refusal("POST", "/api/v1/push", FakeReply(201, [entry])) == ""
    assert "docs/openapi.json" in refusal("POST", "/api/v1/push", FakeReply(201, [{**entry, "more": 1}]))


def test_the_size_of_a_page_is_the_described_one():
    """Unless another was asked for."""
    page = FakeReply(200, {"messages": [], "total": 0, "pagination": {"limit": 7, "offset": 0}})
    assert "another default for limit" in refusal("GET", "/api/v1/dlq", page)
    assert refusal("GET", "/api/v1/dlq?limit=7", page) == ""


def test_accepted_bodies_are_held_to_it_too():
    """Not those that were refused, in whole or in part."""
    queued = FakeReply(201, [])
    DESCRIPTION.check_request("POST", "/api/v1/push", b'{"items":[]}', queued)
    with pytest.raises(described.NotDescribed, match="the body of POST"):
        DESCRIPTION.check_request("POST", "/api/v1/push", b'{"items":[{"queue":5}]}', queued)
    with pytest.raises(described.NotDescribed, match="is required, but it was not"):
        DESCRIPTION.check_request("POST", "/api/v1/push", b"", queued)
    failed = FakeReply(201, [{"index": 0, "status": "failed", "error": "x"}])
    DESCRIPTION.check_request("POST", "/api/v1/push", b'{"items":[{"queue":5}]}', failed)
    refused = FakeReply(400, {"error": "x", "code": "invalid_request"})
    DESCRIPTION.check_request("POST", "/api/v1/push", b"[]", refused)


def test_words_win_over_parameters():
    """As in the router."""
    assert DESCRIPTION.operation("GET", "/api/v1/traces/by-name/x")["operationId"] == "listTracesByName"
    assert DESCRIPTION.operation("GET", "/api/v1/traces/a/x?limit=1")["operationId"] == "listTraces"
    assert DESCRIPTION.operation("HEAD", "/livez")["operationId"] == "livez"
    assert DESCRIPTION.operation("GET", "/api/v1/pop/queue/") is None


def test_the_validator_knows_the_draft():
    """OpenAPI 3.1 means JSON Schema 2020-12: a type may be a list, and beside $ref there may be more."""
    validator = jsonschema.Draft202012Validator({"type": ["string", "null"]})
    assert validator.is_valid(None) and not validator.is_valid(5)
