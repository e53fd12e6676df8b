"""Results of tools that the client ran, as outputs of its calls."""

from collections.abc import Sequence
from typing import Any

from antiphon.protocol.items.content import MAX_CALL_ID, SEALED_CALL, InputText
from antiphon.protocol.items.messages import FunctionCallOutput
from antiphon.protocol.messages.blocks import TextBlock, ToolReference, ToolResultBlock
from antiphon.protocol.messages.wording import FAILED
from antiphon.translation.from_messages.catalogue import Catalogue
from antiphon.translation.from_messages.content import PARTS, Parts, simplest
from antiphon.translation.signed_calls import shortened


def call_id_of(block_id: str) -> str:
    """Return the id of a call for the run: a longer one than the Responses API allows becomes a
    digest of it.
    """
    is_long = len(block_id) > MAX_CALL_ID and not block_id.startswith(SEALED_CALL)
    return shortened(block_id) if is_long else block_id


def output_of(
    block: ToolResultBlock, path: str, catalogue: Catalogue, *, is_lenient: bool
) -> FunctionCallOutput:
    """Return the output for a result. Tools that it refers to are loaded from here on.

    Raises `ClientError` (400) for a reference to a tool that the request does not have, unless
    `is_lenient`.
    """
    content = block.content
    blocks: Sequence[Any] = [TextBlock(text=content)] if isinstance(content, str) else content or ()
    parts: Parts = []
    loaded: list[str] = []
    for index, each in enumerate(blocks):
        place = f"{path}.content.{index}"
        if isinstance(each, ToolReference):
            catalogue.load(each.tool_name, f"{place}.tool_name", is_lenient=is_lenient)
            loaded.append(each.tool_name)
        else:
            parts += PARTS[type(each)](each, place)
    if loaded:
        parts.append(InputText(text=f"Loaded tools: {', '.join(loaded)}"))
    if block.is_error:
        parts = _as_error(parts)
    return FunctionCallOutput(
        call_id=call_id_of(block.tool_use_id), output=simplest(parts) if parts else ""
    )


def _as_error(parts: Parts) -> Parts:
    texts = [part.text for part in parts if isinstance(part, InputText)]
    if any("error" in text.lower() for text in texts):
        return parts
    if parts and isinstance(parts[0], InputText):
        return [InputText(text=f"{FAILED}\n{parts[0].text}"), *parts[1:]]
    return [InputText(text=FAILED), *parts]
