"""`/openapi.json`, generated from the types that decode the requests, so that the two cannot disagree."""

from typing import Any

import msgspec
from starlette.types import Receive, Scope, Send

from antiphon.engine.run import Engine
from antiphon.protocol.queries import InputItemsQuery, RetrieveQuery
from antiphon.protocol.requests import CreateResponse
from antiphon.protocol.response import Response
from antiphon.server.http import Resources, reply_json
from antiphon.version import __version__

REF = "#/components/schemas/{name}"


def resources(engine: Engine) -> Resources:
    """Return what is served under which path."""

    async def get_openapi(scope: Scope, receive: Receive, send: Send) -> None:
        await reply_json(send, describe())

    return {"/openapi.json": {"GET": get_openapi}}


def describe() -> dict[str, Any]:
    """Return the OpenAPI 3.1 description of every endpoint."""
    types = [CreateResponse, Response, RetrieveQuery, InputItemsQuery]
    _, components = msgspec.json.schema_components(types, ref_template=REF)
    one = _path_parameter("response_id")
    return {
        "openapi": "3.1.0",
        "info": {"title": "Antiphon", "version": __version__},
        "paths": {
            "/v1/responses": {"post": _operation("Create a response", "Response", body=_ref("CreateResponse"))},
            "/v1/responses/{response_id}": {
                "get": _operation("Get a response", "Response", [one, *_query(components, "RetrieveQuery")]),
                "delete": _operation("Delete a response", None, [one]),
            },
            "/v1/responses/{response_id}/input_items": {
                "get": _operation("List input items", None, [one, *_query(components, "InputItemsQuery")])
            },
            "/v1/models": {"get": _operation("List models", None)},
            "/v1/models/{model}": {"get": _operation("Get a model", None, [_path_parameter("model")])},
            "/v1/chat/completions": {"post": _operation("Create a chat completion", None, body=_CHAT)},
            "/v1/embeddings": {"post": _operation("Create embeddings", None, body=_EMBEDDINGS)},
            "/healthz": {"get": _operation("Is the process alive", None)},
            "/readyz": {"get": _operation("Can it serve", None)},
            "/openapi.json": {"get": _operation("This description", None)},
        },
        "components": {"schemas": {**components, "Error": _ERROR}},
    }


_CHAT = {
    "type": "object",
    "required": ["model", "messages"],
    "properties": {
        "model": {"type": "string"},
        "messages": {"type": "array", "minItems": 1, "items": {"type": "object"}},
        "stream": {"type": ["boolean", "null"]},
    },
}
_EMBEDDINGS = {
    "type": "object",
    "required": ["model", "input"],
    "properties": {"model": {"type": "string"}, "input": {"type": ["string", "array"]}},
}
_ERROR = {
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


def _ref(name: str) -> dict[str, str]:
    return {"$ref": REF.format(name=name)}


def _path_parameter(name: str) -> dict[str, Any]:
    return {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}


def _query(components: dict[str, Any], name: str) -> list[dict[str, Any]]:
    fields = components.pop(name)["properties"]
    return [
        {"name": "include[]" if field == "include" else field, "in": "query", "schema": schema}
        for field, schema in fields.items()
    ]


def _operation(
    summary: str, reply: str | None, parameters: list[dict[str, Any]] | None = None, body: dict[str, Any] | None = None
) -> dict[str, Any]:
    schema = _ref(reply) if reply else {"type": "object"}
    operation: dict[str, Any] = {
        "summary": summary,
        "responses": {
            "200": {"description": "Done", "content": {"application/json": {"schema": schema}}},
            "default": {"description": "Refused", "content": {"application/json": {"schema": _ref("Error")}}},
        },
    }
    if parameters:
        operation["parameters"] = parameters
    if body:
        operation["requestBody"] = {"required": True, "content": {"application/json": {"schema": body}}}
    return operation
