"""The HTTP reference for people (docs/http-api.md), written from the OpenAPI document."""

import json
import re
from urllib.parse import quote

from document import COMMON, operations, referred, resolve

BASE = "http://localhost:6632"
# Ids in an example. A test runs the commands of every page, but for those that say why not.
MADE_UP = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
ROLES = {
    "none": "anybody, also without a token",
    "read-only": "`read-only`",
    "read-write": "`read-write`",
    "admin": "`admin`",
}


def slug(heading):
    """The anchor that a heading gets."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def one_line(text):
    """Text for a cell of a table."""
    return " ".join(str(text or "").split()).replace("|", "\\|")


def json_text(value):
    """JSON as people write it: short things on one line."""
    line = json.dumps(value, ensure_ascii=False)
    if len(line) <= 100 or not isinstance(value, (dict, list)):
        return line

    def indented(text):
        return "\n".join("  " + part for part in text.split("\n"))
    if isinstance(value, list):
        return "[\n" + ",\n".join(indented(json_text(element)) for element in value) + "\n]"
    members = [indented(f"{json.dumps(key)}: {json_text(member)}") for key, member in value.items()]
    return "{\n" + ",\n".join(members) + "\n}"


class Reference:
    """Writes the page."""

    def __init__(self, document):
        self.document = document
        self.schemas = document["components"]["schemas"]
        self.lines = []
        # A shape that several operations use is explained where the first one does.
        uses = {}
        for _, _, operation in operations(document):
            for name in self.reach(operation):
                uses[name] = uses.get(name, 0) + 1
        self.shared = {name for name, count in uses.items() if count > 1 and self.is_shape(name)}
        self.explained = set()

    def reach(self, value):
        """Every schema that a part of the document leads to."""
        found, waiting = set(), [value]
        while waiting:
            for name in referred(waiting.pop()) - found:
                found.add(name)
                waiting.append(self.schemas[name])
        return found

    def is_shape(self, name):
        """Whether it is an object that is worth a table of its own."""
        shape = self.schemas[name]
        return ("properties" in shape or "allOf" in shape) and not name.startswith("Error")

    def add(self, *lines):
        """More lines of the page."""
        self.lines += lines

    def table(self, header, rows):
        """A table, if it has rows."""
        if not rows:
            return
        self.add("| " + " | ".join(header) + " |", "|" + "---|" * len(header))
        for row in rows:
            self.add("| " + " | ".join(one_line(cell) for cell in row) + " |")
        self.add("")

    # ---- types

    def type_name(self, schema, local):
        """What stands in a type column. Shapes to be explained below are added to `local`."""
        if "$ref" in schema:
            name = schema["$ref"].rpartition("/")[2]
            if name in self.shared:
                return self.link(name, local)
            if self.is_shape(name):
                return "object"
            schema = resolve(self.document, schema)
            if "title" in schema:
                return schema["title"]
        for key in ("oneOf", "anyOf"):
            if key in schema:
                return " or ".join(self.variant_name(variant, local) for variant in schema[key])
        if "const" in schema:
            return f"`{json.dumps(schema['const'])}`"
        if "enum" in schema:
            return ", ".join(f"`{json.dumps(value)}`" for value in schema["enum"])
        kinds = schema.get("type", "any")
        names = []
        for kind in kinds if isinstance(kinds, list) else [kinds]:
            if kind == "array" and schema.get("maxItems") == 0:
                names.append("`[]`")
            elif kind == "array" and "items" in schema:
                element = self.type_name(schema["items"], local)
                names.append(f"array of ({element})" if " or " in element else f"array of {element}")
            else:
                names.append(kind)
        return " or ".join(names)

    def link(self, name, local):
        """A shape that is explained once; if it was not yet, below."""
        if name not in self.explained:
            self.explained.add(name)
            local.append(name)
        return f"[{name}](#shape-{slug(name)})"

    def variant_name(self, schema, local):
        """One of several shapes is known by its name."""
        name = schema.get("$ref", "").rpartition("/")[2]
        if name and self.is_shape(name) and name not in self.shared:
            if name not in local:
                local.append(name)
            return name
        return self.type_name(schema, local)

    def inside(self, schema):
        """(what to add to the path, object) if the schema leads to an object that is explained in place."""
        suffix = ""
        while True:
            name = schema.get("$ref", "").rpartition("/")[2]
            if name in self.shared:
                return suffix, None
            schema = resolve(self.document, schema)
            if "properties" in schema:
                return suffix + ".", schema
            if "items" in schema:
                suffix += "[]"
                schema = schema["items"]
            elif isinstance(schema.get("additionalProperties"), dict):
                suffix += ".*"
                schema = schema["additionalProperties"]
            else:
                return suffix, None

    def rows(self, schema, local, prefix=""):
        """(field, type, meaning) of an object and of what is in it."""
        for part in schema.get("allOf", []):
            yield from self.rows(resolve(self.document, part), local, prefix)
        required = schema.get("required", [])
        closed = schema.get("additionalProperties") is False
        for name, member in schema.get("properties", {}).items():
            whole = resolve(self.document, member)
            meaning = one_line(member.get("description", ""))
            if not meaning and "title" not in whole:
                meaning = one_line(whole.get("description", ""))
            notes = []
            if not closed and name in required:
                notes.append("Required.")
            if closed and name not in required and not meaning.startswith("Only"):
                notes.append("Not always there.")
            if "default" in whole:
                notes.append(f"Default `{json.dumps(whole['default'])}`.")
            if meaning and not meaning.endswith((".", "`")):
                meaning += "."
            yield f"`{prefix}{name}`", self.type_name(member, local), " ".join([meaning] + notes).strip()
            suffix, nested = self.inside(member)
            if nested is not None:
                yield from self.rows(nested, local, f"{prefix}{name}{suffix}")

    def shape(self, schema):
        """Tables of what a body consists of."""
        local = []
        whole = resolve(self.document, schema)
        prefix = ""
        while "items" in whole and "properties" not in whole:
            prefix += "[]"
            schema = whole["items"]
            whole = resolve(self.document, schema)
        # What means the same as no body is told in words.
        said = [part for part in whole.get("oneOf", []) if part.get("type") != "null" and part.get("maxItems") != 0]
        if len(said) == 1:
            schema, whole = said[0], resolve(self.document, said[0])
        name = schema.get("$ref", "").rpartition("/")[2]
        if name in self.shared:
            self.add(f"{'An array of' if prefix else 'It is a'} {self.link(name, local)}.".replace("a [A", "an [A"), "")
        elif "properties" in whole or "allOf" in whole:
            self.table(("field", "type", "meaning"), list(self.rows(whole, local, prefix + "." if prefix else "")))
        elif "oneOf" in whole:
            kind = "An array; each element is" if prefix else "Either"
            self.add(f"{kind} {self.type_name(whole, local)}.", "")
        done = 0
        while done < len(local):
            part = self.schemas[local[done]]
            anchor = f'<a id="shape-{slug(local[done])}"></a>' if local[done] in self.shared else ""
            self.add(f"{anchor}**{local[done]}**: {one_line(part.get('description', ''))}".rstrip(": "), "")
            self.table(("field", "type", "meaning"), list(self.rows(part, local)))
            done += 1

    # ---- operations

    def curl(self, path, method, operation):
        """A command that asks for it."""
        query = []
        for parameter in operation.get("parameters", []):
            parameter = resolve(self.document, parameter)
            if "example" not in parameter:
                continue
            example = parameter["example"]
            text = str(example).lower() if isinstance(example, bool) else str(example)
            if parameter["in"] == "path":
                path = path.replace("{" + parameter["name"] + "}", quote(text, safe=""))
            else:
                query.append(f"{parameter['name']}={quote(text, safe='')}")
        url = BASE + path + ("?" + "&".join(query) if query else "")
        command = "curl -s"
        if method != "GET":
            command += f" -X {method}"
        command += f" '{url}'" if "?" in url else f" {url}"
        body = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
        if "example" in body:
            command += f" -d '{json_text(body['example'])}'"
        return command

    def parameters(self, operation):
        """The table of parameters."""
        rows = []
        for parameter in operation.get("parameters", []):
            parameter = resolve(self.document, parameter)
            schema = resolve(self.document, parameter["schema"])
            meaning = one_line(parameter.get("description"))
            if "default" in schema:
                meaning += f" Default `{str(schema['default']).lower() if isinstance(schema['default'], bool) else schema['default']}`."
            if parameter.get("required") and parameter["in"] == "query":
                meaning += " Required."
            rows.append((f"`{parameter['name']}`", parameter["in"], self.type_name(parameter["schema"], []), meaning))
        if rows:
            self.add("**Parameters**", "")
            self.table(("name", "in", "type", "meaning"), rows)

    def reply(self, status, reply):
        """One reply that has a body of its own."""
        self.add(f"**Reply {status}**: {one_line(reply['description'])}", "")
        for name, header in reply.get("headers", {}).items():
            self.add(f"Header `{name}`: {one_line(header['description'])}", "")
        for kind, content in reply.get("content", {}).items():
            if kind != "application/json":
                self.add(f"Content type `{kind}`.", "")
            seen = content["schema"].get("$ref", "").rpartition("/")[2] in self.explained
            self.shape(content["schema"])
            if "example" in content and not seen:
                language = "json" if kind == "application/json" else "text"
                text = json_text(content["example"]) if language == "json" else content["example"].rstrip("\n")
                self.add(f"```{language}", text, "```", "")

    def operation(self, path, method, operation):
        """The section of one operation."""
        self.add(f"### {method} {path}", "", f"**{operation['summary']}.**".replace("?.", "?"), "")
        self.add(operation["description"].strip(), "")
        ours = " Not known to clients of the original Queen." if operation.get("x-queen-ours") else ""
        self.add(f"Role: {ROLES[operation['x-queen-role']]}.{ours}", "")
        command = self.curl(path, method, operation)
        if MADE_UP.search(command):
            self.add("<!-- not run: the ids are made up -->")
        self.add("```sh", command, "```", "")
        self.parameters(operation)
        body = operation.get("requestBody")
        if body:
            self.add("**Body**" + ("" if body.get("required") else " (may be left out)"), "")
            self.shape(body["content"]["application/json"]["schema"])
        errors = []
        for status, reply in operation["responses"].items():
            if "$ref" in reply:
                continue
            schema = next(iter(reply.get("content", {}).values()), {}).get("schema", {})
            name = schema.get("$ref", "").rpartition("/")[2]
            if name.startswith("Error"):
                code = self.schemas[name]["properties"]["code"]
                names = [code["const"]] if "const" in code else code["enum"]
                errors.append((status, ", ".join(f"`{name}`" for name in names), reply["description"]))
            else:
                self.reply(status, reply)
        if errors:
            self.add("**Errors**", "")
            self.table(("status", "code", "when"), errors)

    def head(self):
        """What stands before the operations."""
        info = self.document["info"]
        self.add("# HTTP API", "", "<!-- Written by scripts/openapi from openapi/. Change those files. -->", "")
        self.add(info["description"].strip(), "")
        self.add("The same as OpenAPI 3.1: [openapi.json](openapi.json), which a broker serves at `/openapi.json`.", "")
        self.add("**Every request** may also be answered with these, and with the errors of HTTP itself. "
                 "[Errors over HTTP](http-errors.md) lists all codes.", "")
        self.table(("status", "when"), [(status, text) for status, (_, text) in sorted(COMMON.items())])
        self.add("**Roles** count where authentication is on: `admin` may do what `read-write` may, and "
                 "`read-write` what `read-only` may. Tokens come as `Authorization: Bearer <token>`; "
                 "[security.md](security.md) says where they come from, and how one is limited to some queues.", "")

    def render(self):
        """The page."""
        self.head()
        chapters = {tag["name"]: [] for tag in self.document["tags"]}
        for path, method, operation in operations(self.document):
            chapters[operation["tags"][0]].append((path, method, operation))
        self.add("## Contents", "")
        for name, members in chapters.items():
            self.add(f"- [{name}](#{slug(name)})")
            for path, method, operation in members:
                self.add(f"  - [`{method} {path}`](#{slug(f'{method} {path}')}): {operation['summary']}")
        self.add("")
        for tag in self.document["tags"]:
            self.add(f"## {tag['name']}", "", tag["description"], "")
            for path, method, operation in chapters[tag["name"]]:
                self.operation(path, method, operation)
        return "\n".join(line.rstrip() for line in self.lines).rstrip("\n") + "\n"


def render(document):
    """docs/http-api.md"""
    return Reference(document).render()
