"""The items of a response as content blocks. A stream and a plain message use the same
functions.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct, field

from antiphon.protocol.items.calls import (
    CustomToolCall,
    ShellCall,
    ShellCallOutput,
    ToolSearchCall,
    ToolSearchOutput,
)
from antiphon.protocol.items.content import SEALED_CALL, OutputText
from antiphon.protocol.items.content import Refusal as RefusalPart
from antiphon.protocol.items.hosted import CodeInterpreterCall, McpCall, McpListTools, WebSearchCall
from antiphon.protocol.items.messages import Compaction, FunctionCall, Message, Reasoning
from antiphon.translation.from_messages.answers import UNSIGNED
from antiphon.translation.from_messages.view import MessagesView
from antiphon.translation.hosted_call import APART
from antiphon.translation.to_chat_completions.reasoning import Unseal, displayed_text, nothing
from antiphon.translation.to_messages import hosted_blocks as hosted
from antiphon.translation.to_messages.hosted_blocks import Block
from antiphon.translation.tool_items import read_object

LONGEST_CITED = 150
"""Characters of a cited text."""

LISTING_BETA = "mcp-client-2026-09-15"
"""With it, an answer contains the tools of an MCP server, so that they need not be listed again."""

_CALL_ID = re.compile(rf"[A-Za-z0-9_-]{{1,64}}|{SEALED_CALL}[A-Za-z0-9_-]+")
_SENTENCE_END = re.compile(r"[.!?]\s|\n")


class Blocks(Struct):
    """Writes items of one response as blocks. `sealed` has the sealed state of items by their ids;
    `unseal` opens it, for what a block shows of it.
    """

    view: MessagesView = field(default_factory=MessagesView)
    sealed: Mapping[str, str] = field(default_factory=dict)
    unseal: Unseal = nothing
    _search_id: str = ""
    """The id of the last tool search, to which the next output belongs."""

    def of(self, item: Any) -> list[Block]:
        """Return the blocks of a finished item; an item that this API does not have has none."""
        write = _WRITERS.get(type(item))
        return list(write(self, item)) if write is not None else []

    def thinking(self, item: Reasoning) -> Block | None:
        """Return the block of reasoning; None for an item with neither text nor sealed state, or if
        it is hidden.
        """
        text = displayed_text(item)
        seal = self.seal_of(item)
        if self.view.display == "hidden" or (not text and not seal):
            return None
        visible = text if self.view.display == "summarized" else ""
        return {"type": "thinking", "thinking": visible, "signature": seal or UNSIGNED}

    def seal_of(self, item: Any) -> str:
        """Return the sealed state of an item, empty without one."""
        return item.encrypted_content or self.sealed.get(str(item.id), "")

    def result_text(self, item: Any) -> str:
        """Return the text that the model read of a call's result, as far as it can be opened."""
        blob = self.seal_of(item)
        text = self.unseal(blob.partition(APART)[0]).get("said") if blob else None
        return text if isinstance(text, str) else ""

    # One generator for each type of item.

    def _message(self, item: Message) -> Iterator[Block]:
        if not isinstance(item.content, str):
            for part in item.content:
                if block := text_block(part):
                    yield block

    def _reasoning(self, item: Reasoning) -> Iterator[Block]:
        if block := self.thinking(item):
            yield block

    def _function(self, item: FunctionCall) -> Iterator[Block]:
        yield {**call_start(item), "input": read_object(item.arguments or "{}") or {}}

    def _custom(self, item: CustomToolCall) -> Iterator[Block]:
        yield {
            "type": "tool_use",
            "id": call_id_of(item),
            "name": item.name,
            "input": {"input": item.input},
        }

    def _web(self, item: WebSearchCall) -> Iterator[Block]:
        yield hosted.web_use(item)
        yield hosted.web_result(item, self.seal_of(item), self.result_text(item))

    def _code(self, item: CodeInterpreterCall) -> Iterator[Block]:
        yield hosted.code_use(item)
        yield hosted.code_result(item)

    def _shell(self, item: ShellCall) -> Iterator[Block]:
        yield hosted.shell_use(item)

    def _shell_output(self, item: ShellCallOutput) -> Iterator[Block]:
        yield hosted.shell_result(item)

    def _mcp(self, item: McpCall) -> Iterator[Block]:
        yield hosted.mcp_use(item)
        yield hosted.mcp_result(item)

    def _listing(self, item: McpListTools) -> Iterator[Block]:
        if LISTING_BETA in self.view.call.betas and not item.error:
            yield hosted.mcp_listing(item)

    def _search(self, item: ToolSearchCall) -> Iterator[Block]:
        self._search_id = hosted.server_id(item)
        yield hosted.search_use(item, self.view.search_tool)

    def _search_output(self, item: ToolSearchOutput) -> Iterator[Block]:
        yield hosted.search_result(item, self._search_id or hosted.server_id(item))

    def _compaction(self, item: Compaction) -> Iterator[Block]:
        blob = self.seal_of(item)
        summary = self.unseal(blob).get("summary") if blob else None
        content = summary if isinstance(summary, str) and summary else blob or None
        yield {"type": "compaction", "content": content, "encrypted_content": blob or None}


_WRITERS: Mapping[type, Callable[[Blocks, Any], Iterator[Block]]] = {
    Message: Blocks._message,
    Reasoning: Blocks._reasoning,
    FunctionCall: Blocks._function,
    CustomToolCall: Blocks._custom,
    WebSearchCall: Blocks._web,
    CodeInterpreterCall: Blocks._code,
    ShellCall: Blocks._shell,
    ShellCallOutput: Blocks._shell_output,
    McpCall: Blocks._mcp,
    McpListTools: Blocks._listing,
    ToolSearchCall: Blocks._search,
    ToolSearchOutput: Blocks._search_output,
    Compaction: Blocks._compaction,
}

CLIENT_CALLS = (FunctionCall, CustomToolCall)
"""Calls that the client runs."""


def call_id_of(item: FunctionCall | CustomToolCall) -> str:
    """Return the id of a call as the client sees it: the backend's, if all clients accept that."""
    is_fitting = _CALL_ID.fullmatch(item.call_id) is not None
    return (
        item.call_id
        if is_fitting
        else hosted.block_id("toolu", item.id or item.call_id.encode().hex()[:40])
    )


def call_start(item: FunctionCall) -> Block:
    """Return a client's call without its input."""
    return {"type": "tool_use", "id": call_id_of(item), "name": item.name, "input": {}}


def text_block(part: Any) -> Block | None:
    """Return the block of a message's part, None if it has no text: clients must not send back an
    empty one.
    """
    if isinstance(part, RefusalPart):
        return {"type": "text", "text": part.refusal} if part.refusal else None
    if not isinstance(part, OutputText) or not part.text:
        return None
    block: Block = {"type": "text", "text": part.text}
    if citations := citations_of(part.text, part.annotations or ()):
        block["citations"] = citations
    return block


def citations_of(text: str, annotations: Sequence[Mapping[str, Any]]) -> list[Block]:
    """Return the pages that a text cites, with the sentence of each citation."""
    found = []
    for place, one in enumerate(annotations):
        if one.get("type") == "url_citation" and isinstance(one.get("url"), str):
            citation = {
                "type": "web_search_result_location",
                "url": one["url"],
                "title": one.get("title"),
                "cited_text": _sentence(text, one.get("start_index"), one.get("end_index")),
                "encrypted_index": f"antiphon.{place}",
            }
            found.append(citation)
    return found


def _sentence(text: str, start: Any, end: Any) -> str:
    """Return the sentence around a citation, at most `LONGEST_CITED` characters of it."""
    if not isinstance(start, int) or not isinstance(end, int) or not 0 <= start <= end <= len(text):
        return text[:LONGEST_CITED]
    before = text[max(0, start - LONGEST_CITED) : start]
    begin = start - len(before)
    for found in _SENTENCE_END.finditer(before):
        begin = start - len(before) + found.end()
    after = _SENTENCE_END.search(text, end, end + LONGEST_CITED)
    finish = after.start() + 1 if after else min(len(text), end + LONGEST_CITED)
    return text[begin:finish].strip()[:LONGEST_CITED]
