"""`/openapi.json`, generated from the types that decode the requests, so that the two cannot
disagree.
"""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, get_args

import msgspec

from antiphon.gateway import Gateway
from antiphon.protocol.files import CompleteUpload, CreateUpload, FileForm, FilesQuery
from antiphon.protocol.requests import CompactRequest, CreateResponse, Include
from antiphon.protocol.resources import (
    AddItems,
    CompletionMessagesQuery,
    CompletionsQuery,
    CountInputTokens,
    CreateConversation,
    CreateWebhookEndpoint,
    EndpointsQuery,
    InputItemsQuery,
    ResponsesQuery,
    RetrieveQuery,
    RotateSecret,
    SendTest,
    StreamQuery,
    UpdateChatCompletion,
    UpdateConversation,
    UpdateWebhookEndpoint,
    UsageQuery,
)
from antiphon.protocol.response import Response
from antiphon.server.reply import Reply, Resources
from antiphon.server.request import HttpRequest
from antiphon.version import __version__

if TYPE_CHECKING:
    from antiphon.server.resources.openapi_console import Described

BODIES = (
    *(CreateResponse, CompactRequest, CountInputTokens),
    *(CreateConversation, UpdateConversation, AddItems, UpdateChatCompletion),
    *(CreateWebhookEndpoint, UpdateWebhookEndpoint, RotateSecret, SendTest),
    *(FileForm, CreateUpload, CompleteUpload),
)
REF = "#/components/schemas/{name}"


def resources(gateway: Gateway) -> Resources:
    """Return the endpoints by path."""

    async def get_openapi(http: HttpRequest) -> Reply:
        return Reply(describe())

    return {"/openapi.json": {"GET": get_openapi}}


def describe() -> dict[str, Any]:
    """Return the OpenAPI 3.1 description of every endpoint."""
    from antiphon.server.resources.openapi_console import CONSOLE  # noqa: PLC0415 - for this description alone
    from antiphon.server.resources.openapi_containers import CONTAINERS  # noqa: PLC0415 - the same
    from antiphon.server.resources.openapi_prompts import PROMPTS  # noqa: PLC0415 - the same
    from antiphon.server.resources.openapi_vector_stores import VECTOR_STORES  # noqa: PLC0415 - the same

    queries = [
        ResponsesQuery,
        RetrieveQuery,
        StreamQuery,
        InputItemsQuery,
        CompletionsQuery,
        CompletionMessagesQuery,
    ]
    described = (*CONSOLE, *VECTOR_STORES, *CONTAINERS, *PROMPTS)
    of_them = [part for one in described for part in (one.body, one.query) if part is not None]
    types = [
        *BODIES,
        Response,
        *queries,
        EndpointsQuery,
        UsageQuery,
        FilesQuery,
        *dict.fromkeys(of_them),
    ]
    _, components = msgspec.json.schema_components(types, ref_template=REF)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Antiphon", "version": __version__},
        "paths": {
            **_responses(components),
            **_conversations(components),
            **_webhooks(components),
            **_files(components),
            "/v1/models": {"get": _operation("List models", None, [_CLIENT_VERSION])},
            "/v1/models/{model}": {
                "get": _operation("Get a model", None, [_path_parameter("model")]),
                "delete": _operation(
                    "Delete a model (always rejected)", None, [_path_parameter("model")]
                ),
            },
            **_completions(components),
            "/v1/embeddings": {"post": _operation("Create embeddings", None, body=_EMBEDDINGS)},
            "/v1/images/generations": {"post": _operation("Create images", None, body=_IMAGES)},
            "/v1/images/edits": {"post": _edits()},
            "/v1/usage": {"get": _operation("List usage", None, _query(components, "UsageQuery"))},
            **_described(components, described),
            "/": {"get": _operation("Show the start page", None)},
            "/healthz": {"get": _operation("Check that the process is alive", None)},
            "/readyz": {"get": _operation("Can it serve", None)},
            "/metrics": {"get": _METRICS},
            "/status": {
                "get": _operation(
                    "Get the status of the backends, and the tenants that store most", None
                )
            },
            "/openapi.json": {"get": _operation("This description", None)},
        },
        "components": {"schemas": {**_bodies(components), "Error": _ERROR}},
    }


_CHAT = {
    "type": "object",
    "required": ["model", "messages"],
    "properties": {
        "model": {"type": "string"},
        "messages": {"type": "array", "minItems": 1, "items": {"type": "object"}},
        "stream": {"type": ["boolean", "null"]},
        "store": {"type": ["boolean", "null"]},
    },
}
_EMBEDDINGS = {
    "type": "object",
    "required": ["model", "input"],
    "properties": {"model": {"type": "string"}, "input": {"type": ["string", "array"]}},
}
_IMAGES: dict[str, Any] = {
    "type": "object",
    "required": ["prompt"],
    "properties": {
        "prompt": {"type": "string"},
        "model": {"type": ["string", "null"]},
        "stream": {"type": ["boolean", "null"]},
    },
}
_METRICS = {
    "summary": "Get metrics for Prometheus",
    "responses": {
        "200": {"description": "Done", "content": {"text/plain": {"schema": {"type": "string"}}}},
        "default": {
            "description": "Refused",
            "content": {"application/json": {"schema": {"$ref": REF.format(name="Error")}}},
        },
    },
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


def _bodies(components: dict[str, Any]) -> dict[str, Any]:
    """Queries are described by their parameters."""
    return {name: schema for name, schema in components.items() if not name.endswith("Query")}


def _responses(components: dict[str, Any]) -> dict[str, Any]:
    one = _path_parameter("response_id")
    key = _KEY
    query = [*_query(components, "RetrieveQuery"), _STREAM, *_query(components, "StreamQuery")]
    items = [one, *_listing(components)]
    return {
        "/v1/responses": {
            "get": _operation("List responses", None, _query(components, "ResponsesQuery")),
            "post": _operation("Create a response", "Response", [key], _ref("CreateResponse")),
        },
        "/v1/responses/compact": {
            "post": _operation("Compact a context", None, None, _ref("CompactRequest"))
        },
        "/v1/responses/input_tokens": {
            "post": _operation("Count input tokens", None, None, _ref("CountInputTokens"))
        },
        "/v1/responses/{response_id}": {
            "get": _operation("Get a response, or its events", "Response", [one, *query]),
            "delete": _operation("Delete a response", None, [one]),
        },
        "/v1/responses/{response_id}/cancel": {
            "post": _operation("Cancel a response", "Response", [one])
        },
        "/v1/responses/{response_id}/input_items": {
            "get": _operation("List input items", None, items)
        },
    }


def _conversations(components: dict[str, Any]) -> dict[str, Any]:
    one = _path_parameter("conversation_id")
    item = _path_parameter("item_id")
    path = "/v1/conversations"
    update = _ref("UpdateConversation")
    add = _ref("AddItems")
    return {
        path: {
            "post": _operation("Create a conversation", None, [_KEY], _ref("CreateConversation"))
        },
        f"{path}/{{conversation_id}}": {
            "get": _operation("Get a conversation", None, [one]),
            "post": _operation("Update a conversation", None, [one], update),
            "delete": _operation("Delete a conversation", None, [one]),
        },
        f"{path}/{{conversation_id}}/items": {
            "get": _operation("List items", None, [one, *_listing(components)]),
            "post": _operation("Add items", None, [one, _INCLUDE], add),
        },
        f"{path}/{{conversation_id}}/items/{{item_id}}": {
            "get": _operation("Get an item", None, [one, item, _INCLUDE]),
            "delete": _operation("Delete an item", None, [one, item]),
        },
    }


def _completions(components: dict[str, Any]) -> dict[str, Any]:
    one = _path_parameter("completion_id")
    path = "/v1/chat/completions"
    metadata = {
        "name": "metadata",
        "in": "query",
        "style": "deepObject",
        "explode": True,
        "schema": {"type": "object"},
    }
    listing = [
        part for part in _query(components, "CompletionsQuery") if part["name"] != "metadata"
    ]
    messages = [one, *_query(components, "CompletionMessagesQuery")]
    return {
        path: {
            "post": _operation("Create a chat completion", None, body=_CHAT),
            "get": _operation("List stored chat completions", None, [*listing, metadata]),
        },
        f"{path}/{{completion_id}}": {
            "get": _operation("Get a stored chat completion", None, [one]),
            "post": _operation(
                "Update a stored chat completion", None, [one], _ref("UpdateChatCompletion")
            ),
            "delete": _operation("Delete a stored chat completion", None, [one]),
        },
        f"{path}/{{completion_id}}/messages": {
            "get": _operation("List messages of its request", None, messages)
        },
    }


def _webhooks(components: dict[str, Any]) -> dict[str, Any]:
    one = _path_parameter("endpoint_id")
    path = "/v1/webhook_endpoints"
    update = _ref("UpdateWebhookEndpoint")
    rotate = _ref("RotateSecret")
    return {
        path: {
            "post": _operation(
                "Create a webhook endpoint", None, None, _ref("CreateWebhookEndpoint")
            ),
            "get": _operation("List webhook endpoints", None, _query(components, "EndpointsQuery")),
        },
        f"{path}/{{endpoint_id}}": {
            "get": _operation("Get a webhook endpoint", None, [one]),
            "post": _operation("Update a webhook endpoint", None, [one], update),
            "delete": _operation("Delete a webhook endpoint", None, [one]),
        },
        f"{path}/{{endpoint_id}}/rotate_secret": {
            "post": _operation("Rotate its secret", None, [one], rotate)
        },
        f"{path}/{{endpoint_id}}/test": {
            "post": _operation("Send a test event", None, [one], _ref("SendTest"))
        },
        "/v1/webhook_event_types": {"get": _operation("List event types", None)},
    }


def _files(components: dict[str, Any]) -> dict[str, Any]:
    file = _path_parameter("file_id")
    upload = _path_parameter("upload_id")
    create = _operation("Upload a file", None, [_KEY], _form(components, "file", "FileForm"))
    content = _as_content(_operation("Get the content of a file", None, [file]))
    part = _operation("Add a part", None, [upload], _form(components, "data"))
    for operation in (create, part):
        body = operation["requestBody"]["content"]
        body["multipart/form-data"] = body.pop("application/json")
    one = "/v1/uploads/{upload_id}"
    return {
        "/v1/files": {
            "get": _operation("List files", None, _query(components, "FilesQuery")),
            "post": create,
        },
        "/v1/files/{file_id}": {
            "get": _operation("Get a file", None, [file]),
            "delete": _operation("Delete a file", None, [file]),
        },
        "/v1/files/{file_id}/content": {"get": content},
        "/v1/uploads": {
            "post": _operation("Begin an upload in parts", None, [_KEY], _ref("CreateUpload"))
        },
        f"{one}/parts": {"post": part},
        f"{one}/complete": {
            "post": _operation("Complete an upload", None, [upload], _ref("CompleteUpload"))
        },
        f"{one}/cancel": {"post": _operation("Cancel an upload", None, [upload])},
    }


def _edits() -> dict[str, Any]:
    """Return the description of an edit, which is sent as JSON or as a form."""
    edits = _operation("Edit images", None, body=_IMAGES)
    file = {"type": "string", "contentMediaType": "application/octet-stream"}
    properties = {**_IMAGES["properties"], "image": file, "mask": file}
    edits["requestBody"]["content"]["multipart/form-data"] = {
        "schema": {**_IMAGES, "properties": properties}
    }
    return edits


def _form(components: dict[str, Any], file: str, fields: str = "") -> dict[str, Any]:
    """Return a form with a file and these fields."""
    known = components[fields] if fields else {"properties": {}, "required": []}
    properties = {
        file: {"type": "string", "contentMediaType": "application/octet-stream"},
        **known["properties"],
    }
    return {"type": "object", "required": [file, *known["required"]], "properties": properties}


def _as_content(operation: dict[str, Any]) -> dict[str, Any]:
    """Return an operation that replies with the content of a file, or with a range of it."""
    operation["parameters"].append(_RANGE)
    operation["responses"]["200"]["content"] = {"application/octet-stream": {}}
    operation["responses"]["206"] = {
        "description": "A range of it",
        "content": {"application/octet-stream": {}},
    }
    return operation


def _described(components: dict[str, Any], endpoints: "Sequence[Described]") -> dict[str, Any]:
    paths: dict[str, Any] = {}
    for one in endpoints:
        parameters = [_path_parameter(name) for name in re.findall(r"{(\w+)}", one.path)]
        parameters += _query(components, one.query.__name__) if one.query else []
        parameters += [_KEY] if one.takes_key else []
        body = _ref(one.body.__name__) if one.body else None
        operation = _operation(one.summary, None, parameters, body)
        if one.file:
            operation["requestBody"]["content"]["multipart/form-data"] = {
                "schema": _form(components, one.file)
            }
        paths.setdefault(one.path, {})[one.method] = (
            _as_content(operation) if one.is_content else operation
        )
    return paths


_KEY = {
    "name": "Idempotency-Key",
    "in": "header",
    "schema": {"type": "string", "minLength": 1, "maxLength": 255},
}
_CLIENT_VERSION = {"name": "client_version", "in": "query", "schema": {"type": "string"}}
_RANGE = {"name": "Range", "in": "header", "schema": {"type": "string"}}
_STREAM = {"name": "stream", "in": "query", "schema": {"type": "boolean"}}
_INCLUDE = {
    "name": "include[]",
    "in": "query",
    "schema": {"type": "array", "items": {"enum": list(get_args(Include))}},
}


def _listing(components: dict[str, Any]) -> list[dict[str, Any]]:
    return _query(components, "InputItemsQuery")


def _ref(name: str) -> dict[str, str]:
    return {"$ref": REF.format(name=name)}


def _path_parameter(name: str) -> dict[str, Any]:
    return {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}


def _query(components: dict[str, Any], name: str) -> list[dict[str, Any]]:
    fields = components[name]["properties"]
    return [
        {"name": "include[]" if field == "include" else field, "in": "query", "schema": schema}
        for field, schema in fields.items()
    ]


def _operation(
    summary: str,
    reply: str | None,
    parameters: list[dict[str, Any]] | None = None,
    body: dict[str, Any] | None = None,
) -> dict[str, Any]:
    schema = _ref(reply) if reply else {"type": "object"}
    operation: dict[str, Any] = {
        "summary": summary,
        "responses": {
            "200": {"description": "Done", "content": {"application/json": {"schema": schema}}},
            "default": {
                "description": "Refused",
                "content": {"application/json": {"schema": _ref("Error")}},
            },
        },
    }
    if parameters:
        operation["parameters"] = parameters
    if body:
        operation["requestBody"] = {
            "required": True,
            "content": {"application/json": {"schema": body}},
        }
    return operation
