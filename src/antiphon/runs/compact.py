"""`POST /responses/compact`: shortens a context so that the client can continue from it
(specification section 11).
"""

from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from antiphon.history.history_errors import no_input
from antiphon.protocol.items.content import InputText
from antiphon.protocol.items.messages import ID_PREFIXES, CompactionTrigger, InputItem, Message
from antiphon.protocol.json_pieces import LargeObject
from antiphon.protocol.requests import CompactRequest, CreateResponse
from antiphon.protocol.response import Response
from antiphon.recording.persistence import RequestIdentity, identified
from antiphon.runs.parts import RunParts
from antiphon.runs.prepare import prepare
from antiphon.runs.run import Run
from antiphon.sizes import LARGE


async def compact(
    parts: RunParts,
    request: CompactRequest,
    tenant: str = "",
    size: int = 0,
    watch: Callable[[Run], None] = lambda run: None,
) -> dict[str, Any]:
    """Return the object `response.compaction`: the unchanged messages of users and systems,
    then a compaction.

    The request has `size` bytes. `watch` receives the response that generates the compaction.

    Raises `ClientError` as a response to the same input would, `BackendError` if the model
    returned no summary.
    """
    items = _items(request.input)
    if not items and request.previous_response_id is None:
        raise no_input()
    requested = CreateResponse(
        model=request.model,
        input=[*items, CompactionTrigger()],
        instructions=request.instructions,
        previous_response_id=request.previous_response_id,
        prompt_cache_key=request.prompt_cache_key,
        prompt_cache_options=request.prompt_cache_options,
        prompt_cache_retention=request.prompt_cache_retention,
        service_tier=request.service_tier,
        store=False,
    )
    identity = identified(RequestIdentity(tenant, work=size), parts.new_id)
    run = Run(await prepare(parts, requested, identity), parts)
    watch(run)
    response = await run.result()
    work = run.context.work_with_chain
    compacted = await parts.offload.run(tenant, work, _compacted, parts, run, response)
    return compacted if work <= LARGE else LargeObject(compacted)


def _compacted(parts: RunParts, run: Run, response: Response) -> dict[str, Any]:
    stored = [
        _renewed(parts, item)
        for item in run.context.items
        if isinstance(item, Message) and _stays(item)
    ]
    return {
        "id": response.id,
        "object": "response.compaction",
        "created_at": response.created_at,
        "output": [*stored, *response.output],
        "usage": response.usage,
    }


def _items(value: Any) -> list[InputItem]:
    if isinstance(value, str):
        return [Message(role="user", content=[InputText(text=value)])] if value else []
    return [item for item in value or () if not isinstance(item, CompactionTrigger)]


def _stays(message: Message) -> bool:
    return message.role != "assistant"


def _renewed(parts: RunParts, message: Message) -> Message:
    """Return a copy of a message with the same content under another id."""
    return replace(message, id=parts.new_id(ID_PREFIXES[Message]), status="completed")
