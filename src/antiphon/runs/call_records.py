"""The records of tool calls in a checkpoint: what another worker needs to finish an answer, and to
emit again what had ended.
"""

from collections.abc import Iterable
from typing import Any

import msgspec
from msgspec import Raw

from antiphon.protocol.items.hosted import ImageGenerationCall
from antiphon.protocol.tool_bindings import Offer
from antiphon.protocol.tools import Tool
from antiphon.recording.checkpoints import ToolCallRecord
from antiphon.tools.registry import KINDS, is_of
from antiphon.translation.from_responses.items import pass_on
from antiphon.translation.hosted_call import HostedCall
from antiphon.translation.writer import ResponseWriter


def record_of(call: HostedCall) -> ToolCallRecord:
    """Return the record of a call that has not ended."""
    offer = call.offer
    return ToolCallRecord(
        index=call.output_index,
        item=Raw(b"null"),
        is_done=False,
        kind=offer.kind,
        namespace=offer.namespace,
        name=offer.name,
        call_id=call.call_id,
        arguments=call.arguments,
        joins_next=call.joins_next,
        approval_request_id=offer.approval_request_id,
        container_id=call.container_id,
    )


def record_of_item(writer: ResponseWriter, index: int, item: Any) -> ToolCallRecord:
    """Return the record of a finished item at this place of the output."""
    encoded = Raw(msgspec.json.encode(item))
    return ToolCallRecord(index=index, item=encoded, sealed=writer.sealed.get(str(item.id)))


def encoded_item(item: Any) -> Raw:
    """Return an item of a checkpoint as JSON; an image is stored apart from it."""
    if type(item) is ImageGenerationCall:
        from antiphon.protocol.stored_images import as_stored  # noqa: PLC0415 - few responses make images

        item, _ = as_stored(item)
    return Raw(msgspec.json.encode(item))


def offer_of_record(record: ToolCallRecord, tools: Iterable[Tool]) -> Offer:
    """Return the offer that a recorded call refers to, with its tool if the request has it."""
    return Offer(
        "",
        record.kind,
        record.name,
        namespace=record.namespace,
        is_hosted=True,
        tool=next((tool for tool in tools if _is_behind(tool, record)), None),
        approval_request_id=record.approval_request_id,
        container_id=record.container_id,
    )


def _is_behind(tool: Tool, record: ToolCallRecord) -> bool:
    is_its_kind = record.kind in KINDS and is_of(record.kind, tool)
    return is_its_kind and record.namespace in ("", getattr(tool, "server_label", ""))


def restore_done(writer: ResponseWriter, record: ToolCallRecord) -> None:
    """Emit an item of an earlier attempt."""
    value = msgspec.json.decode(record.item)
    passed = pass_on(writer, _opening(value))
    if passed is not None:
        if record.sealed:
            writer.sealed[passed.id] = record.sealed
        passed.end(value)
        passed.close(None)


def _opening(value: dict[str, Any]) -> dict[str, Any]:
    """Return an item in its initial state: an image has no result then."""
    is_image = value.get("type") == "image_generation_call"
    return {name: value[name] for name in ("id", "type", "status")} if is_image else value
