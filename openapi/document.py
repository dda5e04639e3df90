"""The OpenAPI document, put together from the YAML files beside this one (README.md explains them)."""

import copy
import glob
import os
import re

import yaml

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
METHODS = ("get", "put", "post", "delete", "patch")
ROLES = ("none", "read-only", "read-write", "admin")

# What every operation may be answered besides its own replies.
COMMON = {
    400: ("BadRequest", "The body, a parameter or a name is not what it must be; the text names it."),
    401: ("Unauthenticated", "Authentication is on, and there is no token or one that is not valid; the text says why."),
    403: ("Forbidden",
          "The token's role, or the queues it is limited to, do not allow this; or, while authentication is off, the "
          "`Host` or the `Origin` is a foreign one."),
    413: ("TooLarge", "The body, or what it asks to be stored or answered at once, is above a limit."),
    429: ("TooManyRequests", "The client is over a limit of its own; `Retry-After` says when it may come again."),
    503: ("Unavailable",
          "PostgreSQL is away, a limit of waiting work is reached, or the broker stops. Nothing was "
          "stored, unless the code is `outcome_unknown`."),
}
SECURITY_SCHEMES = {
    "token": {
        "type": "http",
        "scheme": "bearer",
        "description": "A JSON Web Token of the issuer that the broker is told of, or a token of `queen token` or "
                       "QUEEN_TOKENS_FILE. Not asked for while authentication is off.",
    },
}
# Of these, what is open to everybody is never answered.
OF_TOKENS = (401, 429)
# Statuses about the HTTP itself; they are the `default` of every operation.
HTTP_STATUSES = (405, 408, 414, 417, 431, 500, 501, 505)


class Problem(Exception):
    """What is wrong with the sources."""


def error_codes():
    """{status: [code, ...]} of every error that is a reply's status."""
    with open(os.path.join(ROOT, "src/base/error_codes.h"), encoding="utf-8") as file:
        rows = re.findall(r'X\(k\w+, "(\w+)", "\w*", (\d+),', file.read())
    codes = {}
    for name, status in rows:
        if int(status) >= 400:
            codes.setdefault(int(status), []).append(name)
    return codes


def version():
    """The broker's version."""
    with open(os.path.join(ROOT, "CMakeLists.txt"), encoding="utf-8") as file:
        return re.search(r"project\(queen VERSION ([\d.]+)", file.read()).group(1)


def read(path):
    """A YAML file."""
    with open(path, encoding="utf-8") as file:
        try:
            return yaml.safe_load(file)
        except yaml.YAMLError as error:
            raise Problem(str(error)) from None


def add_all(target, more, path):
    """Adds named things, each once."""
    for name, value in (more or {}).items():
        if name in target:
            raise Problem(f"{path}: {name} is there already")
        target[name] = copy.deepcopy(value)


def close(schema):
    """A reply has no properties that are not described, and all that are not optional."""
    if isinstance(schema, list):
        for element in schema:
            close(element)
    if not isinstance(schema, dict):
        return
    if isinstance(schema.get("properties"), dict):
        optional = schema.pop("optional", [])
        unknown = set(optional) - set(schema["properties"])
        if unknown:
            raise Problem(f"optional, but no property: {', '.join(sorted(unknown))}")
        schema.setdefault("type", "object")
        schema.setdefault("required", [name for name in schema["properties"] if name not in optional])
        schema.setdefault("additionalProperties", False)
        for member in schema["properties"].values():
            close(member)
    for key in ("items", "additionalProperties", "oneOf", "anyOf", "allOf"):
        close(schema.get(key))


def error_schema(codes):
    """The body of an error with one of these codes."""
    code = {"const": codes[0]} if len(codes) == 1 else {"enum": codes}
    return {
        "type": "object",
        "required": ["error", "code"],
        "additionalProperties": False,
        "properties": {
            "error": {"type": "string", "description": "A sentence for people; it may be worded better at any time."},
            "code": {"description": "Stable: decide by it.", **code},
        },
    }


def error_reply(description, schema):
    """A reply that is an error."""
    reply = {"description": description}
    if schema == "Error503":
        reply["headers"] = {"Retry-After": {"description": "Seconds.", "schema": {"type": "string"}}}
    reply["content"] = {"application/json": {"schema": {"$ref": schema}}}
    return reply


def common_replies():
    """components.responses"""
    replies = {name: error_reply(text, f"Error{status}") for status, (name, text) in COMMON.items()}
    replies["HttpError"] = error_reply("Something is wrong with the HTTP itself, or with the broker.", "Error")
    replies["HttpError"]["x-statuses"] = list(HTTP_STATUSES)
    return replies


def finish_operation(operation, codes):
    """Adds the replies that need not be written, and puts the fields in order."""
    own = operation.pop("errors", {})
    replies = {str(status): reply for status, reply in operation.pop("responses").items()}
    for status, text in own.items():
        if status not in codes:
            raise Problem(f"{operation['operationId']}: no error has the status {status}")
        replies[str(status)] = error_reply(text, f"Error{status}")
    open_to_all = operation["x-queen-role"] == "none"
    operation["security"] = [] if open_to_all else [{"token": []}]
    for status, (name, _) in COMMON.items():
        if open_to_all and status in OF_TOKENS:
            continue
        replies.setdefault(str(status), {"$ref": f"#/components/responses/{name}"})
    replies = dict(sorted(replies.items()))
    replies["default"] = {"$ref": "#/components/responses/HttpError"}
    operation["responses"] = replies


def expand_references(value, components, kind="schemas"):
    """`$ref: Name` becomes a reference into the components."""
    if isinstance(value, list):
        for element in value:
            expand_references(element, components, kind)
    if not isinstance(value, dict):
        return
    reference = value.get("$ref")
    if isinstance(reference, str) and not reference.startswith("#"):
        if reference not in components[kind]:
            raise Problem(f"there is no {reference} among the {kind}")
        value["$ref"] = f"#/components/{kind}/{reference}"
    for key, member in value.items():
        # An example is data, whatever it looks like.
        if key in ("example", "examples", "default", "const", "enum") and kind == "schemas":
            continue
        expand_references(member, components, "parameters" if key == "parameters" else "schemas")


def build():
    """The document."""
    document = read(os.path.join(HERE, "openapi.yaml"))
    document["info"]["version"] = version()
    codes = error_codes()
    paths, schemas, parameters = {}, {}, {}
    for path in sorted(glob.glob(os.path.join(HERE, "*.yaml"))):
        family = read(path)
        if "openapi" in family:
            continue
        for section in family:
            if section not in ("paths", "requests", "replies", "parameters"):
                raise Problem(f"{path}: {section} is no section")
        for place, operations in family.get("paths", {}).items():
            add_all(paths.setdefault(place, {}), operations, path)
        replies = copy.deepcopy(family.get("replies") or {})
        for schema in replies.values():
            close(schema)
        add_all(schemas, family.get("requests"), path)
        add_all(schemas, replies, path)
        add_all(parameters, family.get("parameters"), path)
    for operations in paths.values():
        for operation in operations.values():
            finish_operation(operation, codes)
    schemas["Error"] = error_schema(sorted(name for names in codes.values() for name in names))
    for status, names in codes.items():
        schemas[f"Error{status}"] = error_schema(names)
    order = [tag["name"] for tag in document["tags"]]
    document["paths"] = dict(sorted(paths.items(), key=lambda item: place_of(item, order)))
    document["components"] = {"schemas": schemas, "parameters": parameters,
                              "responses": common_replies(), "securitySchemes": SECURITY_SCHEMES}
    expand_references(document["components"]["schemas"], document["components"])
    for part in ("parameters", "responses"):
        for value in document["components"][part].values():
            expand_references(value, document["components"])
    expand_references(document["paths"], document["components"])
    document["components"]["schemas"] = only_used(document)
    return document


def place_of(item, order):
    """Paths stand in the order of their chapters; within one as they are written."""
    first = next(iter(item[1].values()))
    if first["tags"][0] not in order:
        raise Problem(f"{item[0]}: {first['tags'][0]} is no tag")
    return order.index(first["tags"][0])


def only_used(document):
    """The schemas that something refers to, at last."""
    schemas = document["components"]["schemas"]
    used, waiting = set(), [document["paths"], document["components"]["parameters"],
                            document["components"]["responses"]]
    while waiting:
        for name in referred(waiting.pop()) - used:
            used.add(name)
            waiting.append(schemas[name])
    written = {name for name in schemas if not name.startswith("Error")}
    if written - used:
        raise Problem(f"nothing refers to {', '.join(sorted(written - used))}")
    return {name: schemas[name] for name in schemas if name in used}


def referred(value):
    """Names of the schemas that a part of the document refers to."""
    if isinstance(value, list):
        return set().union(*[referred(element) for element in value])
    if not isinstance(value, dict):
        return set()
    names = set().union(*[referred(member) for member in value.values()])
    reference = value.get("$ref")
    if isinstance(reference, str) and reference.startswith("#/components/schemas/"):
        names.add(reference.rpartition("/")[2])
    return names


def operations(document):
    """(path, METHOD, operation) in the order of the document."""
    for path, item in document["paths"].items():
        for method in METHODS:
            if method in item:
                yield path, method.upper(), item[method]


def resolve(document, value):
    """`value`, or what it refers to with its own fields on top."""
    while isinstance(value, dict) and "$ref" in value:
        target = document
        for part in value["$ref"].lstrip("#/").split("/"):
            target = target[part]
        value = {**target, **{key: member for key, member in value.items() if key != "$ref"}}
    return value
