"""The messages of a request as the items of a conversation (specification of the Messages API, sections 4 and 5).

Consecutive messages of one role are one turn. The results in a user's turn come first, in their order, and all else
follows as one message, because nothing can be between calls and their outputs. A system message stays in its place,
so that the prompt that a backend has cached stays the same. What precedes a compaction is dropped, except the
instructions.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct, field

from antiphon.errors import ClientError
from antiphon.protocol.items.content import InputPart, InputText, OutputText, ReasoningText
from antiphon.protocol.items.messages import Compaction, FunctionCall, InputItem, Message, Reasoning
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
    ToolAddition,
    ToolRemoval,
    ToolResultBlock,
    ToolSearchResult,
    ToolUseBlock,
    WebFetchResult,
    WebSearchResult,
)
from antiphon.protocol.messages.requests import Effort, MessageParam
from antiphon.protocol.messages.wording import block_path, refusal
from antiphon.translation.from_messages.catalogue import Catalogue
from antiphon.translation.from_messages.content import PARTS, simplest
from antiphon.translation.from_messages.hosted import (
    as_json,
    is_sealed,
    mcp_item,
    mcp_listing,
    served_items,
)
from antiphon.translation.from_messages.results import call_id_of, output_of
from antiphon.translation.from_messages.view import dropped, reasoning_id

FOREIGN = "organization_binding_mismatch"
"""Why reasoning of another server is dropped."""

UNSIGNED = "antiphon.unsigned"
"""The signature of thinking for which no backend needs anything back."""

ATTRIBUTION = "x-anthropic-billing-header:"
"""The beginning of a system block for Anthropic's endpoint alone; its text could change with every request."""

Placed = tuple[int, int, Any]
"""The position of a message, that of a block in it, and the block."""


class ConversationReader(Struct):
    """Reads messages into `items`; `places` has the message and the block of each, -1 for the message of `system`."""

    catalogue: Catalogue
    is_lenient: bool = False
    """Whether calls without results, and results without calls, are accepted: tokens are counted of any part."""
    thinking_turns: int | None = None
    """How many turns keep their thinking, None for all."""
    items: list[InputItem] = field(default_factory=list)
    places: list[tuple[int, int]] = field(default_factory=list)
    dropped: list[dict[str, str]] = field(default_factory=list)
    effort: Effort | None = None
    """The effort that the last system message sets."""
    is_prefilled: bool = False
    """Whether the last turn is the beginning of the answer."""
    _pending: dict[str, tuple[int, int]] = field(default_factory=dict)
    """The calls of the last turn without results, by id."""
    _first: int = 0
    """How many items the instructions are."""
    _text: Message | None = None
    """The message of the model that grows."""
    _results: dict[str, Any] = field(default_factory=dict)
    """The results of calls that a server ran, by the id of the call."""
    _keeps_thinking: bool = True

    def add_system(self, system: str | Sequence[TextBlock] | None) -> str | None:
        """Add the blocks of `system`; return a text, which becomes the instructions."""
        if system is None or isinstance(system, str):
            return system or None
        blocks = system[1:] if system and system[0].text.startswith(ATTRIBUTION) else system
        parts: list[InputPart] = [InputText(text=block.text) for block in blocks if block.text]
        if parts:
            self._add(-1, 0, Message(role="developer", content=simplest(parts)))
        self._first = len(self.items)
        return None

    def add_messages(self, messages: Sequence[MessageParam]) -> None:
        """Add all messages. Raises `ClientError` (400) for a block that its role cannot have."""
        turns = list(_turns(messages))
        keeping = self._kept_turns(turns)
        last_user = max((number for number, (role, _) in enumerate(turns) if role == "user"), default=-1)
        for number, (role, turn) in enumerate(turns):
            if role == "user":
                self._add_user(turn)
            elif role == "assistant":
                self._keeps_thinking = keeping is None or number in keeping
                self._add_assistant(turn, messages)
            else:
                self._add_later_system(turn, is_over=number < last_user)
        self._check_answered()
        if turns and turns[-1][0] == "assistant":
            self._end_with_answer()

    def _kept_turns(self, turns: Sequence[tuple[str, Sequence[tuple[int, MessageParam]]]]) -> set[int] | None:
        """Return the turns that keep their thinking, None for all."""
        if self.thinking_turns is None:
            return None
        thinking = [
            number
            for number, (role, turn) in enumerate(turns)
            if role == "assistant" and any(type(block) in _THINKING for _, _, block in _blocks(turn))
        ]
        return set(thinking[-self.thinking_turns :] if self.thinking_turns else [])

    # Each role.

    def _add_user(self, turn: Sequence[tuple[int, MessageParam]]) -> None:
        parts: list[InputPart] = []
        place: tuple[int, int] | None = None
        answered: set[str] = set()
        for i, j, block in _blocks(turn):
            path = block_path(i, j)
            if type(block) is ToolResultBlock:
                self._add_result(block, i, j, answered)
            elif type(block) is ContainerUpload:
                if not self.catalogue.has_code:
                    raise refusal(path, "A `container_upload` needs a code execution tool.", "unsupported_value")
            elif (read := PARTS.get(type(block))) is not None:
                parts += read(block, path)
                place = place or (i, j)
            else:
                raise _misplaced(block, path)
        self._check_answered()
        if parts and place is not None:
            self._add(*place, Message(role="user", content=simplest(parts)))

    def _add_result(self, block: ToolResultBlock, i: int, j: int, answered: set[str]) -> None:
        path, call_id = block_path(i, j), block.tool_use_id
        if call_id in answered:
            words = f"each tool_use must have a single result. Found multiple `tool_result` blocks with id: {call_id}"
            raise refusal(path, words)
        if self._pending.pop(call_id, None) is None and not self.is_lenient:
            words = (
                f"unexpected `tool_use_id` found in `tool_result` blocks: {call_id}. Each `tool_result` block must "
                "have a corresponding `tool_use` block in the previous message."
            )
            raise refusal(path, words)
        answered.add(call_id)
        self._add(i, j, output_of(block, path, self.catalogue, is_lenient=self.is_lenient))

    def _check_answered(self) -> None:
        if self._pending and not self.is_lenient:
            ids, (message, _) = ", ".join(self._pending), next(iter(self._pending.values()))
            words = (
                f"`tool_use` ids were found without `tool_result` blocks immediately after: {ids}. Each `tool_use` "
                "block must have a corresponding `tool_result` block in the next message."
            )
            raise refusal(f"messages.{message}", words)
        self._pending.clear()

    def _add_later_system(self, turn: Sequence[tuple[int, MessageParam]], *, is_over: bool) -> None:
        """Add system messages in their place; `is_over` says that a user message follows."""
        for i, message in turn:
            if message.output_config is not None and message.output_config.effort is not None:
                self.effort = message.output_config.effort
            if is_over and message.clear_at == "next_user_message":
                continue
            parts: list[InputPart] = []
            for _, j, block in _blocks([(i, message)]):
                if type(block) is TextBlock:
                    parts += PARTS[TextBlock](block, "")
                elif isinstance(block, ToolAddition | ToolRemoval):
                    self._change_tools(block, f"{block_path(i, j)}.tool")
                else:
                    raise _misplaced(block, block_path(i, j))
            if parts:
                self._add(i, 0, Message(role="developer", content=simplest(parts)))

    def _change_tools(self, block: ToolAddition | ToolRemoval, path: str) -> None:
        tool = block.tool
        kind, name = tool.get("type"), str(tool.get("name") or tool.get("tool_name") or "")
        if kind in ("mcp_tool_reference", "mcp_toolset_reference"):
            return  # all tools of a server are offered from the start
        definition = tool.get("definition")
        if isinstance(block, ToolAddition) and kind == "tool_definition" and isinstance(definition, dict):
            self.catalogue.define(definition, f"{path}.definition")
        elif kind != "tool_reference":
            raise refusal(f"{path}.type", "Input should be 'tool_reference' or 'tool_definition'")
        elif isinstance(block, ToolAddition):
            self.catalogue.load(name, f"{path}.name", is_lenient=self.is_lenient)
        else:
            self.catalogue.remove(name)

    def _add_assistant(self, turn: Sequence[tuple[int, MessageParam]], messages: Sequence[MessageParam]) -> None:
        self._check_answered()
        self._text = None
        for i, j, block in _blocks(turn):
            add = _ANSWERS.get(type(block))
            if add is None:
                raise _misplaced(block, block_path(i, j))
            if not isinstance(block, TextBlock | DocumentBlock):
                self._text = None
            if type(block) in _SERVED and not self._results:
                self._results = _results_in(messages)
            add(self, block, i, j)

    def _end_with_answer(self) -> None:
        """A last text of the model is the beginning of its answer; after a call of a server's tool it continues."""
        last = self.items[-1] if self.items else None
        if not isinstance(last, Message) or last.role != "assistant" or isinstance(last.content, str):
            return
        part = last.content[-1]
        if isinstance(part, OutputText):
            part.text = part.text.rstrip()
            self.is_prefilled = bool(part.text)
        if not self.is_prefilled and len(last.content) == 1:
            self.items.pop()
            self.places.pop()

    # Each block of an answer.

    def _add_text(self, block: TextBlock, i: int, j: int) -> None:
        if not block.text:
            return
        part = OutputText(text=block.text, annotations=list(_annotations(block)))
        if self._text is None:
            self._text = Message(role="assistant", content=[part])
            self._add(i, j, self._text)
        elif isinstance(self._text.content, list):
            self._text.content.append(part)

    def _add_document(self, block: DocumentBlock, i: int, j: int) -> None:
        for part in PARTS[DocumentBlock](block, block_path(i, j)):
            if not isinstance(part, InputText):
                raise _misplaced(block, block_path(i, j))
            self._add_text(TextBlock(text=part.text), i, j)

    def _add_call(self, block: ToolUseBlock, i: int, j: int) -> None:
        self._pending[block.id] = (i, j)
        arguments = as_json(block.input)
        self._add(i, j, FunctionCall(call_id=call_id_of(block.id), name=block.name, arguments=arguments))

    def _add_thinking(self, block: ThinkingBlock, i: int, j: int) -> None:
        signature = block.signature or ""
        if not self._keeps_thinking:
            return
        if is_sealed(signature):
            self._add_sealed(signature, i, j)
        elif signature == UNSIGNED:
            text = [ReasoningText(text=block.thinking)] if block.thinking else []
            if text:
                self._add(i, j, Reasoning(id=reasoning_id(i, j, block.thinking), summary=[], content=text))
        else:
            self.dropped.append(dropped(i, j, FOREIGN))

    def _add_redacted(self, block: RedactedThinkingBlock, i: int, j: int) -> None:
        if not self._keeps_thinking:
            return
        if is_sealed(block.data):
            self._add_sealed(block.data, i, j)
        else:
            self.dropped.append(dropped(i, j, FOREIGN))

    def _add_sealed(self, blob: str, i: int, j: int) -> None:
        self._add(i, j, Reasoning(id=reasoning_id(i, j, blob), summary=[], encrypted_content=blob))

    def _add_compaction(self, block: CompactionBlock, i: int, j: int) -> None:
        blob = next((text for text in (block.encrypted_content, block.content) if is_sealed(text)), None)
        if blob is None and not block.content:
            return  # it failed
        del self.items[self._first :], self.places[self._first :]
        self._pending.clear()
        if blob is not None:
            self._add(i, j, Compaction(encrypted_content=blob))
        else:
            self._add(i, j, Message(role="developer", content=block.content or ""))

    def _add_served(self, block: ServerToolUseBlock, i: int, j: int) -> None:
        result = self._results.get(block.id)
        if isinstance(result, ServerToolResult):
            for item in served_items(block, result, self.catalogue):
                self._add(i, j, item)

    def _add_mcp(self, block: McpToolUseBlock, i: int, j: int) -> None:
        result = self._results.get(block.id)
        if isinstance(result, McpToolResultBlock):
            self._add(i, j, mcp_item(block, result))

    def _add_listing(self, block: McpToolListing, i: int, j: int) -> None:
        self._add(i, j, mcp_listing(block, f"{i}_{j}"))

    def _skip(self, block: Block, i: int, j: int) -> None:
        """Drop it: it is part of another block, or means nothing here."""

    def _add(self, i: int, j: int, item: InputItem) -> None:
        self.items.append(item)
        self.places.append((i, j))


_ANSWERS: Mapping[type, Callable[[ConversationReader, Any, int, int], None]] = {
    TextBlock: ConversationReader._add_text,
    ToolUseBlock: ConversationReader._add_call,
    ThinkingBlock: ConversationReader._add_thinking,
    RedactedThinkingBlock: ConversationReader._add_redacted,
    CompactionBlock: ConversationReader._add_compaction,
    ServerToolUseBlock: ConversationReader._add_served,
    McpToolUseBlock: ConversationReader._add_mcp,
    McpToolListing: ConversationReader._add_listing,
    **dict.fromkeys(
        (WebSearchResult, WebFetchResult, CodeResult, BashResult, TextEditorResult, ToolSearchResult, AdvisorResult),
        ConversationReader._skip,
    ),
    **dict.fromkeys((McpToolResultBlock, ContainerUpload, FallbackBlock), ConversationReader._skip),
    DocumentBlock: ConversationReader._add_document,
}
"""What becomes of each block of an answer."""

_THINKING = frozenset({ThinkingBlock, RedactedThinkingBlock})
_SERVED = frozenset({ServerToolUseBlock, McpToolUseBlock})


def _turns(messages: Sequence[MessageParam]) -> Iterator[tuple[str, list[tuple[int, MessageParam]]]]:
    """Join consecutive messages of one role."""
    turn: list[tuple[int, MessageParam]] = []
    for i, message in enumerate(messages):
        if turn and turn[-1][1].role != message.role:
            yield turn[-1][1].role, turn
            turn = []
        turn.append((i, message))
    if turn:
        yield turn[-1][1].role, turn


def _blocks(turn: Sequence[tuple[int, MessageParam]]) -> Iterator[Placed]:
    for i, message in turn:
        if isinstance(message.content, str):
            yield i, 0, TextBlock(text=message.content)
        else:
            for j, block in enumerate(message.content):
                yield i, j, block


def _results_in(messages: Sequence[MessageParam]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for message in messages:
        if message.role == "assistant" and not isinstance(message.content, str):
            for block in message.content:
                if isinstance(block, ServerToolResult | McpToolResultBlock):
                    found[block.tool_use_id] = block
    return found


def _annotations(block: TextBlock) -> Iterator[dict[str, Any]]:
    for citation in block.citations or ():
        if citation.get("type") == "web_search_result_location" and isinstance(citation.get("url"), str):
            url = citation["url"]
            title = citation.get("title") or url
            place = {"start_index": 0, "end_index": len(block.text)}
            yield {"type": "url_citation", "url": url, "title": title, **place}


_ROLES = {
    ToolUseBlock: "assistant",
    ToolResultBlock: "user",
    ThinkingBlock: "assistant",
    ToolAddition: "system",
    ToolRemoval: "system",
}


def _misplaced(block: Block, path: str) -> ClientError:
    role = _ROLES.get(type(block)) or ("user" if type(block) in PARTS or type(block) not in _ANSWERS else "assistant")
    return refusal(path, f"`{block.type}` blocks can only be in `{role}` messages")
