"""The model's own turns: text, thinking, calls, and what tools of a server did, as the items that
they were.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct, field

from antiphon.protocol.items.content import InputText, OutputText, ReasoningText
from antiphon.protocol.items.messages import Compaction, FunctionCall, Message, Reasoning
from antiphon.protocol.messages.blocks import (
    AdvisorResult,
    BashResult,
    Block,
    CodeResult,
    CompactionBlock,
    ContainerUpload,
    DocumentBlock,
    FallbackBlock,
    McpToolListing,
    McpToolResultBlock,
    McpToolUseBlock,
    RedactedThinkingBlock,
    ServerToolResult,
    ServerToolUseBlock,
    TextBlock,
    TextEditorResult,
    ThinkingBlock,
    ToolSearchResult,
    ToolUseBlock,
    WebFetchResult,
    WebSearchResult,
)
from antiphon.protocol.messages.requests import MessageParam
from antiphon.protocol.messages.wording import block_path
from antiphon.translation.from_messages.catalogue import Catalogue
from antiphon.translation.from_messages.content import document_parts
from antiphon.translation.from_messages.hosted import (
    as_json,
    is_sealed,
    mcp_item,
    mcp_listing,
    server_items,
)
from antiphon.translation.from_messages.placed_items import Placed, PlacedItems, misplaced
from antiphon.translation.from_messages.results import call_id_of
from antiphon.translation.from_messages.view import dropped, reasoning_id

FOREIGN = "organization_binding_mismatch"
"""Why reasoning of another server is dropped."""

UNSIGNED = "antiphon.unsigned"
"""The signature of thinking for which no backend needs anything back."""

THINKING = frozenset({ThinkingBlock, RedactedThinkingBlock})
_TEXTS = frozenset({TextBlock, DocumentBlock})
_SERVER = frozenset({ServerToolUseBlock, McpToolUseBlock})


class TurnReader(Struct):
    """Reads turns of the model into `placed`."""

    placed: PlacedItems
    catalogue: Catalogue
    messages: Sequence[MessageParam]
    """All messages: the result of a call that a server ran can be in a later one."""
    pending: dict[str, tuple[int, int]] = field(default_factory=dict)
    """The calls of the last turn that have no result yet, by id."""
    dropped: list[dict[str, str]] = field(default_factory=list)
    """The thinking that is not sent to the model, as `input_transformations` reports it."""
    _text: Message | None = None
    """The message that the next text continues."""
    _results: dict[str, Any] | None = None
    """The results of calls that a server ran, by the id of the call."""
    _keeps_thinking: bool = True

    def add(self, blocks: Iterable[Placed], *, keeps_thinking: bool) -> None:
        """Add a turn. Raises `ClientError` (400) for a block that it cannot have."""
        self._text = None
        self._keeps_thinking = keeps_thinking
        for i, j, block in blocks:
            kind = type(block)
            add = _ANSWERS.get(kind)
            if add is None:
                raise misplaced(block, block_path(i, j))
            if kind not in _TEXTS:
                self._text = None
            add(self, block, i, j)

    def end(self) -> bool:
        """End a conversation with such a turn; return whether its last text is the beginning of the
        answer.

        After a call of a server's tool, the answer continues with something new.
        """
        last = self.placed.items[-1] if self.placed.items else None
        if (
            not isinstance(last, Message)
            or last.role != "assistant"
            or isinstance(last.content, str)
        ):
            return False
        part = last.content[-1]
        if not isinstance(part, OutputText):
            return False
        part.text = part.text.rstrip()
        if not part.text and len(last.content) == 1:
            self.placed.drop_last()
        return bool(part.text)

    def _add_text(self, block: TextBlock, i: int, j: int) -> None:
        if not block.text:
            return
        part = OutputText(text=block.text, annotations=list(_annotations(block)))
        if self._text is None:
            self._text = Message(role="assistant", content=[part])
            self.placed.add(i, j, self._text)
        elif isinstance(self._text.content, list):
            self._text.content.append(part)

    def _add_document(self, block: DocumentBlock, i: int, j: int) -> None:
        for part in document_parts(block, block_path(i, j)):
            if not isinstance(part, InputText):
                raise misplaced(block, block_path(i, j))
            self._add_text(TextBlock(text=part.text), i, j)

    def _add_call(self, block: ToolUseBlock, i: int, j: int) -> None:
        self.pending[block.id] = (i, j)
        arguments = as_json(block.input)
        self.placed.add(
            i, j, FunctionCall(call_id=call_id_of(block.id), name=block.name, arguments=arguments)
        )

    def _add_thinking(self, block: ThinkingBlock, i: int, j: int) -> None:
        if block.signature == UNSIGNED and self._keeps_thinking:
            if block.thinking:
                content = [ReasoningText(text=block.thinking)]
                item_id = reasoning_id(i, j, block.thinking)
                self.placed.add(i, j, Reasoning(id=item_id, summary=[], content=content))
        else:
            self._add_sealed(block.signature or "", i, j)

    def _add_redacted(self, block: RedactedThinkingBlock, i: int, j: int) -> None:
        self._add_sealed(block.data, i, j)

    def _add_sealed(self, blob: str, i: int, j: int) -> None:
        """Add reasoning with its sealed state.

        That of another server is dropped, and never an error.
        """
        if not self._keeps_thinking:
            return
        if is_sealed(blob):
            item = Reasoning(id=reasoning_id(i, j, blob), summary=[], encrypted_content=blob)
            self.placed.add(i, j, item)
        else:
            self.dropped.append(dropped(i, j, FOREIGN))

    def _add_compaction(self, block: CompactionBlock, i: int, j: int) -> None:
        """Replace all that comes before. A compaction without content has failed."""
        blob = next(
            (text for text in (block.encrypted_content, block.content) if is_sealed(text)), None
        )
        if blob is None and not block.content:
            return
        self.placed.replace_all()
        self.pending.clear()
        if blob is not None:
            self.placed.add(i, j, Compaction(encrypted_content=blob))
        else:
            self.placed.add(i, j, Message(role="developer", content=block.content or ""))

    def _add_server(self, block: ServerToolUseBlock, i: int, j: int) -> None:
        result = self._result_of(block.id)
        if isinstance(result, ServerToolResult):
            for item in server_items(block, result, self.catalogue):
                self.placed.add(i, j, item)

    def _add_mcp(self, block: McpToolUseBlock, i: int, j: int) -> None:
        result = self._result_of(block.id)
        if isinstance(result, McpToolResultBlock):
            self.placed.add(i, j, mcp_item(block, result))

    def _result_of(self, call_id: str) -> Any:
        if self._results is None:
            self._results = dict(_results_in(self.messages))
        return self._results.get(call_id)

    def _add_listing(self, block: McpToolListing, i: int, j: int) -> None:
        self.placed.add(i, j, mcp_listing(block, f"{i}_{j}"))

    def _skip(self, block: Block, i: int, j: int) -> None:
        """Drop a block that is part of another, or that means nothing here."""


_ANSWERS: Mapping[type, Callable[[TurnReader, Any, int, int], None]] = {
    TextBlock: TurnReader._add_text,
    DocumentBlock: TurnReader._add_document,
    ToolUseBlock: TurnReader._add_call,
    ThinkingBlock: TurnReader._add_thinking,
    RedactedThinkingBlock: TurnReader._add_redacted,
    CompactionBlock: TurnReader._add_compaction,
    ServerToolUseBlock: TurnReader._add_server,
    McpToolUseBlock: TurnReader._add_mcp,
    McpToolListing: TurnReader._add_listing,
    **dict.fromkeys(
        (
            WebSearchResult,
            WebFetchResult,
            CodeResult,
            BashResult,
            TextEditorResult,
            ToolSearchResult,
            AdvisorResult,
        ),
        TurnReader._skip,
    ),
    **dict.fromkeys((McpToolResultBlock, ContainerUpload, FallbackBlock), TurnReader._skip),
}
"""What becomes of each block of a turn."""


def _results_in(messages: Iterable[MessageParam]) -> Iterator[tuple[str, Any]]:
    for message in messages:
        if message.role == "assistant" and not isinstance(message.content, str):
            for block in message.content:
                if isinstance(block, ServerToolResult | McpToolResultBlock):
                    yield block.tool_use_id, block


def _annotations(block: TextBlock) -> Iterator[dict[str, Any]]:
    for citation in block.citations or ():
        if citation.get("type") == "web_search_result_location" and isinstance(
            citation.get("url"), str
        ):
            url = citation["url"]
            place = {"start_index": 0, "end_index": len(block.text)}
            yield {
                "type": "url_citation",
                "url": url,
                "title": citation.get("title") or url,
                **place,
            }
