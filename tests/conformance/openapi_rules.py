"""The rules of OpenAPI 3.1 that can be checked without its own schema: which fields an object may have,
which it must, that references lead somewhere, and that paths and parameters agree."""

import re

import jsonschema

FIELDS = {
    "document": ({"openapi", "info", "paths"}, {"servers", "tags", "components"}),
    "info": ({"title", "version"}, {"summary", "description", "license"}),
    "tag": ({"name"}, {"description"}),
    "server": ({"url"}, {"description"}),
    "operation": ({"responses", "operationId", "tags", "summary", "description"},
                  {"parameters", "requestBody", "security"}),
    "parameter": ({"name", "in", "schema"}, {"description", "required", "example"}),
    "body": ({"content"}, {"description", "required"}),
    "response": ({"description"}, {"headers", "content"}),
    "header": ({"schema"}, {"description"}),
    "media": ({"schema"}, {"example"}),
    "components": (set(), {"schemas", "parameters", "responses", "securitySchemes"}),
    "securityScheme": ({"type", "scheme"}, {"description"}),
}
METHODS = {"get", "put", "post", "delete", "patch"}
KEYWORDS = {
    "$ref", "title", "description", "type", "properties", "required", "additionalProperties", "items", "oneOf",
    "anyOf", "allOf", "enum", "const", "pattern", "minimum", "maximum", "minLength", "maxLength", "minItems",
    "maxItems", "default", "examples", "propertyNames",
}


class Rules:
    """Collects what is wrong with a document."""

    def __init__(self, document):
        self.document = document
        self.problems = []

    def check(self):
        """The problems, each with its place."""
        document = self.document
        self.fields("document", document, "document")
        self.fields("info", document["info"], "info")
        self.fields("components", document["components"], "components")
        for tag in document["tags"]:
            self.fields("tag", tag, f"tag {tag.get('name')}")
        for server in document["servers"]:
            self.fields("server", server, "server")
        for name, schema in document["components"]["schemas"].items():
            self.schema(schema, name)
        for name, parameter in document["components"]["parameters"].items():
            self.parameter(parameter, name)
        for name, response in document["components"]["responses"].items():
            self.response(response, name)
        for name, scheme in document["components"].get("securitySchemes", {}).items():
            self.fields("securityScheme", scheme, name)
        for path, item in document["paths"].items():
            self.path(path, item)
        self.operation_ids()
        return self.problems

    def report(self, place, text):
        """One more problem."""
        self.problems.append(f"{place}: {text}")

    def fields(self, kind, value, place):
        """Required and unknown fields."""
        required, optional = FIELDS[kind]
        for name in sorted(required - set(value)):
            self.report(place, f"{name} is missing")
        for name in sorted(set(value) - required - optional):
            if not name.startswith("x-"):
                self.report(place, f"{name} is no field of a {kind}")

    def resolve(self, value, place):
        """What a reference leads to."""
        reference = value.get("$ref")
        if reference is None:
            return value
        target = self.document
        for part in reference.removeprefix("#/").split("/"):
            if part not in target:
                self.report(place, f"{reference} leads nowhere")
                return {}
            target = target[part]
        return target

    def schema(self, schema, place):
        """A JSON Schema of draft 2020-12, with keywords that exist."""
        try:
            jsonschema.Draft202012Validator.check_schema(schema)
        except jsonschema.SchemaError as error:
            self.report(place, error.message)
        else:
            self.keywords(schema, place)

    def keywords(self, schema, place):
        """Keywords and references, all the way down."""
        self.resolve(schema, place)
        for keyword in sorted(set(schema) - KEYWORDS):
            self.report(place, f"{keyword} is no keyword")
        for name, member in schema.get("properties", {}).items():
            self.keywords(member, f"{place}.{name}")
        for name in schema.get("required", []):
            if name not in schema.get("properties", {}):
                self.report(place, f"{name} is required, but not described")
        for key in ("items", "additionalProperties"):
            if isinstance(schema.get(key), dict):
                self.keywords(schema[key], f"{place}.{key}")
        for key in ("oneOf", "anyOf", "allOf"):
            for number, member in enumerate(schema.get(key, [])):
                self.keywords(member, f"{place}.{key}[{number}]")

    def parameter(self, parameter, place):
        """A parameter of a path or a query."""
        self.fields("parameter", parameter, place)
        self.schema(parameter.get("schema", {}), place)
        if parameter.get("in") not in ("path", "query", "header"):
            self.report(place, "in is neither path, query nor header")
        if parameter.get("in") == "path" and parameter.get("required") is not True:
            self.report(place, "a parameter of the path is required")

    def content(self, content, place):
        """The bodies of a request or a reply, by content type."""
        for kind, media in content.items():
            self.fields("media", media, f"{place} {kind}")
            self.schema(media.get("schema", {}), f"{place} {kind}")

    def response(self, response, place):
        """A reply."""
        self.fields("response", response, place)
        for name, header in response.get("headers", {}).items():
            self.fields("header", header, f"{place} {name}")
        self.content(response.get("content", {}), place)

    def path(self, path, item):
        """The operations of a path."""
        if not path.startswith("/"):
            self.report(path, "does not begin with /")
        for method, operation in item.items():
            place = f"{method.upper()} {path}"
            if method not in METHODS:
                self.report(place, "no such method")
                continue
            self.fields("operation", operation, place)
            self.operation(path, operation, place)

    def operation(self, path, operation, place):
        """One operation."""
        parameters = [self.resolve(parameter, place) for parameter in operation.get("parameters", [])]
        for parameter in parameters:
            self.parameter(parameter, f"{place} {parameter.get('name')}")
        names = [(parameter.get("in"), parameter.get("name")) for parameter in parameters]
        if len(set(names)) != len(names):
            self.report(place, "a parameter is there twice")
        in_path = {name for kind, name in names if kind == "path"}
        if in_path != set(re.findall(r"\{(\w+)\}", path)):
            self.report(place, f"the path and its parameters differ: {sorted(in_path)}")
        if "requestBody" in operation:
            self.fields("body", operation["requestBody"], place)
            self.content(operation["requestBody"].get("content", {}), place)
        for status, response in operation["responses"].items():
            if not re.fullmatch(r"[1-5]\d\d|default", status):
                self.report(place, f"{status} is no status")
            self.response(self.resolve(response, place), f"{place} {status}")
        schemes = self.document["components"].get("securitySchemes", {})
        for name in (name for way in operation.get("security", []) for name in way):
            if name not in schemes:
                self.report(place, f"{name} is no security scheme")
        known = {tag["name"] for tag in self.document["tags"]}
        for tag in operation.get("tags", []):
            if tag not in known:
                self.report(place, f"{tag} is no tag")

    def operation_ids(self):
        """Each only once."""
        seen = set()
        for path, item in self.document["paths"].items():
            for operation in item.values():
                name = operation.get("operationId")
                if name in seen:
                    self.report(path, f"the operationId {name} is there twice")
                seen.add(name)
