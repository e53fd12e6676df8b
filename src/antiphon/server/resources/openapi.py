"""`/openapi.json`, generated from the types that decode the requests, so that the two cannot
disagree. Each resource declares its endpoints (`server/described.py`).
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from antiphon.gateway import Gateway, JsonObject
from antiphon.server import resources as api
from antiphon.server.described import CONTENT, Described, DescribedForm, Schema
from antiphon.server.reply import Reply, Resources
from antiphon.server.request import HttpRequest
from antiphon.version import __version__

REF = "#/components/schemas/{name}"

Components = Mapping[str, JsonObject]


def resources(gateway: Gateway) -> Resources:
    """Return the endpoints by path."""

    async def get_openapi(http: HttpRequest) -> Reply:
        return Reply(describe())

    return {"/openapi.json": {"GET": get_openapi}}


def described() -> Sequence[Described]:
    """Return the rows of `/openapi.json`."""
    return (Described("get", "/openapi.json", "This description"),)


def describe() -> JsonObject:
    """Return the OpenAPI 3.1 description of every endpoint."""
    rows = _rows()
    types = dict.fromkeys(found for row in rows for found in _types(row))
    _, components = msgspec.json.schema_components(types, ref_template=REF)
    paths: dict[str, JsonObject] = {}
    for row in rows:
        paths.setdefault(row.path, {})[row.method] = _operation(row, components)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Antiphon", "version": __version__},
        "paths": paths,
        "components": {"schemas": {**_schemas(components), "Error": _ERROR}},
    }


def _rows() -> Sequence[Described]:
    """Return the rows of all resources, those of the API first."""
    from antiphon.server import admin  # noqa: PLC0415 - for this description alone
    from antiphon.server.console import pages  # noqa: PLC0415 - the same

    modules = [*map(api.load, api.names()), *admin.MODULES, pages]
    rows = [row for module in modules for row in module.described()]
    return sorted(rows, key=lambda row: not row.path.startswith("/v1/"))


def _types(row: Described) -> Iterator[type[Struct]]:
    fields = row.form.fields if row.form else None
    for found in (row.body, row.reply, fields, *_queries(row)):
        if isinstance(found, type):
            yield found


def _queries(row: Described) -> Sequence[type[Struct]]:
    return (row.query,) if isinstance(row.query, type) else row.query


def _schemas(components: Components) -> Components:
    """Queries are described by their parameters."""
    return {name: schema for name, schema in components.items() if not name.endswith("Query")}


def _operation(row: Described, components: Components) -> JsonObject:
    operation: JsonObject = {
        "summary": row.summary,
        "responses": {**_replies(row), "default": _REFUSED},
    }
    if parameters := [*_parameters(row, components)]:
        operation["parameters"] = parameters
    bodies: JsonObject = {}
    if row.body is not None:
        bodies["application/json"] = {"schema": _schema(row.body)}
    if row.form is not None:
        bodies["multipart/form-data"] = {"schema": _form(row.form, components)}
    if bodies:
        operation["requestBody"] = {"required": True, "content": bodies}
    return operation


def _replies(row: Described) -> JsonObject:
    if row.media == CONTENT:
        content: JsonObject = {CONTENT: {}}
        return {
            "200": {"description": "Done", "content": content},
            "206": {"description": "A range of it", "content": content},
        }
    kind = "object" if row.media == "application/json" else "string"
    schema = _schema(row.reply or {"type": kind})
    return {"200": {"description": "Done", "content": {row.media: {"schema": schema}}}}


def _parameters(row: Described, components: Components) -> Iterator[Schema]:
    for name in re.findall(r"{(\w+)}", row.path):
        yield {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
    for query in _queries(row):
        for field, schema in components[query.__name__]["properties"].items():
            yield _query_parameter(field, schema)
    yield from row.parameters
    if row.takes_key:
        yield _KEY
    if row.media == CONTENT:
        yield _RANGE


def _query_parameter(field: str, schema: Schema) -> Schema:
    if field == "metadata":
        shape = {"style": "deepObject", "explode": True, "schema": {"type": "object"}}
        return {"name": field, "in": "query", **shape}
    return {"name": "include[]" if field == "include" else field, "in": "query", "schema": schema}


def _schema(found: type[Struct] | Schema) -> Schema:
    return {"$ref": REF.format(name=found.__name__)} if isinstance(found, type) else found


def _form(form: DescribedForm, components: Components) -> Schema:
    fields = form.fields or {"properties": {}, "required": []}
    known: Schema = components[fields.__name__] if isinstance(fields, type) else fields
    files = {name: {"type": "string", "contentMediaType": CONTENT} for name in form.files}
    required = [*(form.files if form.needs_files else ()), *known["required"]]
    properties = {**files, **known["properties"]}
    return {"type": "object", "required": required, "properties": properties}


_KEY = {
    "name": "Idempotency-Key",
    "in": "header",
    "schema": {"type": "string", "minLength": 1, "maxLength": 255},
}
_RANGE = {"name": "Range", "in": "header", "schema": {"type": "string"}}
_REFUSED = {
    "description": "Refused",
    "content": {"application/json": {"schema": {"$ref": REF.format(name="Error")}}},
}
_ERROR: dict[str, Any] = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["message", "type", "param", "code"],
            "properties": {
                "message": {"type": "string"},
                "type": {"type": "string"},
                "param": {"type": ["string", "null"]},
                "code": {"type": ["string", "null"]},
            },
        }
    },
}
