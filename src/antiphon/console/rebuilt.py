"""Reconstructs the client's request of a stored response, and the requests to its backend, from
stored data.

The sent bytes are not stored. The same translation creates them again, for the backend that was
used, with its current configuration. So a request can differ if settings or findings about the
backend have changed since.
"""

from collections.abc import Sequence
from functools import cache
from typing import Any

import msgspec

from antiphon.console.plain_request import plain_request
from antiphon.console.redaction import STRUCK_OUT, redacted
from antiphon.history.context import load_context
from antiphon.history.prompted import restore
from antiphon.objects.large import size_of
from antiphon.protocol.json_pieces import LargeObject, encode_large
from antiphon.protocol.json_slices import decoded
from antiphon.protocol.requests import CreateResponse
from antiphon.protocol.validation.validate import decode_request
from antiphon.runs.echoed_tools import IMAGE_DEFAULTS
from antiphon.runs.parts import RunParts
from antiphon.runs.prepare import open_response
from antiphon.runs.translated import BackendRequest, translated
from antiphon.sharing.memory import Account, weight
from antiphon.sizes import ITEM
from antiphon.storage.operations import conversations
from antiphon.storage.records.facts import CREDENTIALS, STREAM, Facts
from antiphon.storage.records.responses import StoredItem, StoredResponse
from antiphon.upstream.backend_state import ModelTarget

RUN_HERE = frozenset(
    {
        *("mcp_call", "web_search_call", "file_search_call"),
        *("code_interpreter_call", "shell_call_output", "image_generation_call"),
    }
)
"""Items of tools that this server runs. After their results, the model is called again."""

MOST_CALLS = 20
"""Maximum number of reconstructed requests to a backend per response: the first ones."""

MOST_BYTES = 32 * 1024 * 1024
"""Maximum bytes of these requests in one reply, because each repeats everything before it. The
first always fits.
"""

ECHOED = frozenset(CreateResponse.__struct_fields__) - {
    "input",
    "model",
    "stream",
    "conversation",
    "store",
}
"""Request parameters that the response repeats."""

PATHS = {"chat": "/chat/completions", "responses": "/responses"}


def rebuild_request(stored: StoredResponse, facts: Facts) -> dict[str, Any]:
    """Return the request body of a stored response, without secrets and sealed content.

    If an `mcp` tool of the request had credentials, which are not stored, each `mcp` tool has the
    mask instead.
    """
    request = _request(stored, facts, [decoded(item.body) for item in stored.input])
    request.pop("opening", None)  # it follows from the prompt
    without_secrets: dict[str, Any] = redacted(plain_request(request))
    missing = [name for name, flag in CREDENTIALS.items() if facts.flags & flag]
    for tool in without_secrets.get("tools", ()) if missing else ():
        if tool["type"] == "mcp":
            tool.update(dict.fromkeys(missing, STRUCK_OUT))
    return without_secrets


async def rebuild_calls(parts: RunParts, stored: StoredResponse, facts: Facts) -> dict[str, Any]:
    """Return the requests to the backend, in order.

    `has_more` means that the last ones are omitted.

    A large request is created in a thread, and counts as memory of the tenant.
    Raises `AntiphonError` if the model is no longer served, or not enough memory is available.
    """
    target = await _target(parts, facts)
    before = await _history(parts, stored)
    account = Account(parts.history.memory, stored.tenant)
    account.take(weight(size_of_response(stored)))
    created = LargeObject(object="list", is_rebuilt=True, data=[], has_more=False)
    created.account = account
    size = 0
    rounds = parts.offload.run(stored.tenant, _work_of(stored), _rounds, stored.output)
    for provided in await rounds:
        one = await _rebuild_call(parts, (stored, facts, before, provided), target)
        if created["data"] and size + len(one) > MOST_BYTES:
            created["has_more"] = True
            break
        account.take(len(one))
        size += len(one)
        created["data"].append(msgspec.Raw(one))
    return created


_Round = tuple[StoredResponse, Facts, Sequence[StoredItem] | None, Sequence[StoredItem]]
"""A response, its facts, the conversation before it, and its output before this call of the
model.
"""


async def _rebuild_call(parts: RunParts, turn: _Round, target: ModelTarget) -> bytes:
    """Return one request to the backend as JSON."""
    stored = turn[0]
    before = turn[2]
    work = _work_of(stored)
    request = await parts.offload.run(stored.tenant, work, _decoded, turn, parts.models.accepts)
    context = await load_context(
        parts.history, request, stored.tenant, before, needs_input=False, work=work
    )
    try:
        created = await translated(parts, request, context, target)
        return await parts.offload.run(
            stored.tenant, context.work_with_chain, _encoded_call, created
        )
    finally:
        context.release()


def _work_of(stored: StoredResponse) -> int:
    """Return how many bytes of JSON take as long as the response, which can have many items."""
    return max(size_of_response(stored), ITEM * (len(stored.input) + len(stored.output)))


def _decoded(turn: _Round, takes: Any) -> CreateResponse:
    """Return the client's request in its state before one call of the model."""
    stored, facts, before, provided = turn
    requested = _request(stored, facts, [_with_seal(item) for item in (*stored.input, *provided)])
    requested.pop("conversation", None)
    if before is not None:
        requested.pop("previous_response_id", None)
    if "prompt" not in requested:
        return decode_request(encode_large(requested), takes)
    return restore(
        decode_request(encode_large(requested), lambda name: name == "opening" or takes(name))
    )


def _request(
    stored: StoredResponse, facts: Facts, items: Sequence[dict[str, Any]]
) -> dict[str, Any]:
    """Return the request body of a stored response, with these items as its input."""
    body = decoded(stored.body)
    request: dict[str, Any] = {"model": facts.model, "input": items}
    request |= _differing({name: body[name] for name in sorted(ECHOED & body.keys())}, _defaults())
    if "tools" in request:
        request["tools"] = [_tool(tool) for tool in request["tools"]]
    if isinstance(request.get("instructions"), list):  # the messages of a prompt
        request["opening"] = request.pop("instructions")
    if stored.conversation_id:
        request["conversation"] = stored.conversation_id
    if facts.flags & STREAM:
        request["stream"] = True
    return request


def _tool(tool: dict[str, Any]) -> dict[str, Any]:
    """Return a tool of a response in request form.

    `n` of `image_generation` only exists in responses.
    """
    if tool.get("type") != "image_generation":
        return tool
    return {name: value for name, value in tool.items() if value != IMAGE_DEFAULTS.get(name)}


def size_of_response(stored: StoredResponse) -> int:
    """Return the number of bytes of a stored response."""
    return len(stored.body) + size_of(stored.input) + size_of(stored.output)


async def _target(parts: RunParts, facts: Facts) -> ModelTarget:
    """Return the backend that was used, or else the backend that now serves the model."""
    found = await parts.models.candidates(facts.served_model or facts.model)
    return next((one for one in found if one.state.label == facts.backend), found[0])


async def _history(parts: RunParts, stored: StoredResponse) -> Sequence[StoredItem] | None:
    """Return the earlier items of the conversation, or None for a chain, which is loaded by its
    parent.
    """
    if not stored.conversation_id:
        return None
    items = await parts.store.read(conversations.items, stored.tenant, stored.conversation_id) or []
    own = {item.id for item in (*stored.input, *stored.output)}
    first = next((place for place, item in enumerate(items) if item.id in own), len(items))
    return items[:first]


def _rounds(output: Sequence[StoredItem]) -> list[Sequence[StoredItem]]:
    """Return the output before each call of the model."""
    kinds = [_kind(item) for item in output]
    provided = 0
    while provided < len(output) and kinds[provided] == "mcp_list_tools":
        provided += 1
    places = [
        place
        for place in range(provided + 1, len(output))
        if kinds[place - 1] in RUN_HERE and kinds[place] not in RUN_HERE
    ]
    return [output[:place] for place in (provided, *places)][:MOST_CALLS]


def _encoded_call(created: BackendRequest) -> bytes:
    target = created.target
    request = {"model": target.model, **redacted(created.body)}
    call = {
        "backend": target.state.label,
        "model": target.model,
        "path": PATHS[created.api],
        "request": request,
    }
    return encode_large(call)


@cache
def _defaults() -> dict[str, Any]:
    """Return the values in a response to a request without parameters."""
    defaults: dict[str, Any] = msgspec.to_builtins(
        open_response(CreateResponse(model="", input=""), "", 0)
    )
    return defaults


def _differing(values: dict[str, Any], defaults: dict[str, Any]) -> dict[str, Any]:
    """Return the values that differ from the defaults, recursively in objects."""
    found = {}
    for name, value in values.items():
        default = defaults.get(name)
        if isinstance(value, dict) and isinstance(default, dict):
            value = _differing(value, default)
        if value not in (default, None, [], {}):
            found[name] = value
    return found


class _Kind(msgspec.Struct):
    type: str


_kind_of = msgspec.json.Decoder(_Kind).decode


def _kind(item: StoredItem) -> str:
    """Return the type of an item."""
    return _kind_of(item.body).type


def _with_seal(item: StoredItem) -> dict[str, Any]:
    displayed: dict[str, Any] = decoded(item.body)
    if item.sealed:
        displayed["encrypted_content"] = item.sealed
    return displayed
