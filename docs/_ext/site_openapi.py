"""The HTTP API as pages: Markdown from the document that the server serves at `/openapi.json`.

A page with the comment `<!-- openapi: endpoints -->` or `<!-- openapi: schemas -->` contains that
part instead, and `openapi.json` is written next to `reference/openapi.html`.
"""

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphinx.application import Sphinx

GROUPS = (
    ("Chat completions", r"/v1/chat/"),
    ("Files and uploads", r"/v1/(files|uploads)"),
    ("Webhooks", r"/v1/webhook"),
    ("Administration", r"/admin/"),
    ("Console", r"/console"),
    ("Health and metrics", r"/(?!v1/)"),
)
"""Title and paths of the sections that are not named after a path. `/v1/vector_stores` is in the
section "Vector stores".
"""
FIRST = ("Responses", "Conversations", "Chat completions")
"""The sections at the top of the page. The others follow in the order of the document."""
FEW = 6
"""A union of more objects is shown by its size: the schema lists them."""

PAGE = "reference/openapi"

Json = dict[str, Any]


def endpoints(document: Json) -> str:
    """Return every endpoint as Markdown, grouped by resource."""
    groups: dict[str, list[str]] = {title: [] for title in FIRST}
    for path, operations in document["paths"].items():
        lines = groups.setdefault(group_of(path), [])
        for method, operation in operations.items():
            lines += endpoint(method, path, operation, document)
    return "\n".join(line for title in groups for line in (f"## {title}", "", *groups[title]))


def group_of(path: str) -> str:
    """Return the title of the section of an endpoint."""
    named = (title for title, prefix in GROUPS if re.match(prefix, path))
    return next(named, None) or path.split("/")[2].replace("_", " ").capitalize()


def endpoint(method: str, path: str, operation: Json, document: Json) -> Iterator[str]:
    """Return one endpoint: method and path, parameters, body, responses."""
    verb = f"`{method.upper()}`{{.method .{method}}}"
    yield from (f"### {operation['summary']}", "", f"{verb} `{path}`", "")
    if text := operation.get("description"):
        yield from (text, "")
    if parameters := operation.get("parameters"):
        rows = (
            (f"`{each['name']}`", each["in"], type_of(each["schema"]), default(each["schema"]))
            for each in parameters
        )
        yield from table(("Parameter", "In", "Type", "Default"), rows)
    for media, content in operation.get("requestBody", {}).get("content", {}).items():
        schema = content["schema"]
        name = content["schema"].get("$ref", "").rpartition("/")[2]
        kind = f", [{name}](/reference/openapi/schemas.md#{name.lower()})" if name else ""
        yield from (f"**Body**: `{media}`{kind}", "")
        yield from properties(document["components"]["schemas"][name] if name else schema)
    responses = ", ".join(response(*each) for each in operation["responses"].items())
    yield from (f"**Responses**: {responses}", "")


def response(status: str, content: Json) -> str:
    """Return a status with the type of its body."""
    found = content.get("content", {}).items()
    kinds = [
        type_of(each["schema"]) if media == "application/json" else f"`{media}`"
        for media, each in found
    ]
    return " ".join(
        [f"`{status}`" if status != "default" else "4xx and 5xx", " or ".join(kinds)]
    ).strip()


def schemas(document: Json) -> str:
    """Return every schema as Markdown, in alphabetical order."""
    found = sorted(document["components"]["schemas"].items(), key=lambda each: str(each[0].lower()))
    return "\n".join(
        line for name, each in found for line in (f"## {name}", "", *schema_lines(each))
    )


def schema_lines(schema: Json) -> Iterator[str]:
    """Return the description and the fields of a schema."""
    if text := schema.get("description"):
        yield from (text.split("\n\n")[0].replace("\n", " "), "")
    if schema.get("properties"):
        yield from properties(schema)
    else:
        yield from (type_of(schema), "")


def properties(schema: Json) -> Iterator[str]:
    """Return the fields of an object as a table."""
    required = schema.get("required", [])
    fields = schema.get("properties", {}).items()
    rows = (
        (f"`{name}`", type_of(each), "required" if name in required else default(each))
        for name, each in fields
    )
    yield from table(("Field", "Type", "Default"), rows)


def default(schema: Json) -> str:
    """Return the default of a value as code; empty if it has none, or null."""
    found = schema.get("default")
    return "" if found is None or "default" not in schema else f"`{json.dumps(found)}`"


def table(heads: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    """Return a table in Markdown; nothing if it has no rows."""
    lines = [f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in rows]
    if lines:
        yield from (f"| {' | '.join(heads)} |", "|---" * len(heads) + "|", *lines, "")


def type_of(schema: Json) -> str:
    """Return the type of a value in words, with links to schemas."""
    if name := schema.get("$ref", "").rpartition("/")[2]:
        return f"[{name}](/reference/openapi/schemas.md#{name.lower()})"
    if "const" in schema:
        return f"`{json.dumps(schema['const'])}`"
    if "enum" in schema:
        return ", ".join(f"`{json.dumps(value)}`" for value in schema["enum"])
    if choices := schema.get("anyOf") or schema.get("oneOf"):
        return union(choices)
    kinds = schema.get("type", "any JSON value")
    if isinstance(kinds, list):
        return " or ".join(kinds)
    if kinds == "array" and "items" in schema:
        return f"array of {type_of(schema['items'])}" + limits(schema)
    return str(kinds) + limits(schema)


def union(choices: list[Json]) -> str:
    """Return the types of a union, null last; many objects are counted."""
    objects = [each for each in choices if "$ref" in each]
    displayed = [each for each in choices if "$ref" not in each or len(objects) <= FEW]
    kinds = list(dict.fromkeys(type_of(each) for each in displayed if each.get("type") != "null"))
    if len(displayed) < len(choices):
        kinds.append(f"one of {len(objects)} objects")
    return " or ".join(
        [*kinds, *(["null"] if any(each.get("type") == "null" for each in choices) else [])]
    )


def limits(schema: Json) -> str:
    """Return the limits of a value in words."""
    least = schema.get("minimum", schema.get("exclusiveMinimum"))
    most = schema.get("maximum", schema.get("exclusiveMaximum"))
    bounds = [f"from {least:,}"] if least is not None else []
    bounds += [f"{'to' if bounds else 'at most'} {most:,}"] if most is not None else []
    if (longest := schema.get("maxLength")) is not None:
        bounds.append(f"at most {longest:,} characters")
    if (longest := schema.get("maxItems")) is not None:
        bounds.append(f"at most {longest:,} items")
    if (longest := schema.get("maxProperties")) is not None:
        bounds.append(f"at most {longest:,} keys")
    return f" ({', '.join(bounds)})".replace(", to ", " to ") if bounds else ""


def describe() -> Json:
    """Return the document that the server serves."""
    from antiphon.server.resources.openapi import describe as described  # noqa: PLC0415 - the server, for this alone

    return described()


def fill(app: "Sphinx", docname: str, source: list[str]) -> None:
    """Replace the comments of a page by what they name."""
    for part in (endpoints, schemas):
        mark = f"<!-- openapi: {part.__name__} -->"
        if mark in source[0]:
            source[0] = source[0].replace(mark, part(describe()))


def write(app: "Sphinx", error: Exception | None) -> None:
    """Write the document next to its page."""
    if error is None and app.builder.format == "html" and PAGE in app.env.found_docs:
        Path(app.outdir, f"{PAGE}.json").write_text(json.dumps(describe(), indent=2) + "\n")


def setup(app: "Sphinx") -> Json:
    """Register both hooks."""
    app.connect("source-read", fill)
    app.connect("build-finished", write)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
