"""The messages of a request as the items of a conversation (specification of the Messages API,
sections 4 and 5).

Consecutive messages of one role are one turn. The results in a user's turn come first, in their
order, and all else follows as one message, because nothing can be between calls and their outputs.
A system message stays where it is, so that the prompt that a backend has cached stays the same.
What precedes a compaction is dropped, except the instructions.
"""

from collections.abc import Sequence
from typing import Any

from antiphon.protocol.items.content import InputPart, InputText
from antiphon.protocol.items.messages import Message
from antiphon.protocol.messages.blocks import (
    ContainerUpload,
    TextBlock,
    ToolAddition,
    ToolRemoval,
    ToolResultBlock,
)
from antiphon.protocol.messages.requests import Effort, MessageParam
from antiphon.protocol.messages.wording import block_path, refusal
from antiphon.translation.from_messages.answers import THINKING, TurnReader
from antiphon.translation.from_messages.catalogue import Catalogue
from antiphon.translation.from_messages.content import PARTS, simplest
from antiphon.translation.from_messages.placed_items import (
    PlacedItems,
    Turn,
    blocks_of,
    misplaced,
    turns_of,
)
from antiphon.translation.from_messages.results import output_of

ATTRIBUTION = "x-anthropic-billing-header:"
"""The beginning of a system block for Anthropic's endpoint alone; its text could change with every
request.
"""


class ConversationReader:
    """Reads messages into `placed`.

    `is_lenient` accepts calls without results, and results without calls: tokens are counted of any
    part of a conversation. `thinking_turns` is how many turns keep their thinking, None for all.
    """

    def __init__(
        self,
        catalogue: Catalogue,
        messages: Sequence[MessageParam],
        *,
        is_lenient: bool = False,
        thinking_turns: int | None = None,
    ) -> None:
        self.placed = PlacedItems()
        self.answers = TurnReader(self.placed, catalogue, messages)
        self.effort: Effort | None = None
        """The effort that the last system message sets."""
        self.cleared: list[list[Any]] = []
        """The blocks of thinking that `thinking_turns` removes, by turn."""
        self.is_prefilled = False
        """Whether the last turn is the beginning of the answer."""
        self._catalogue = catalogue
        self._turns = list(turns_of(messages))
        self._is_lenient = is_lenient
        self._thinking_turns = thinking_turns

    def add_system(self, system: str | Sequence[TextBlock] | None) -> str | None:
        """Add the blocks of `system`; return a text, which becomes the instructions."""
        if system is None or isinstance(system, str):
            return system or None
        blocks = system[1:] if system and system[0].text.startswith(ATTRIBUTION) else system
        parts: list[InputPart] = [InputText(text=block.text) for block in blocks if block.text]
        if parts:
            self.placed.add(-1, 0, Message(role="developer", content=simplest(parts)))
        self.placed.first = len(self.placed.items)
        return None

    def add_messages(self) -> None:
        """Add all messages. Raises `ClientError` (400) for a block that its role cannot have."""
        turns = self._thinking_turns
        with_thinking = None if turns is None else self._turns_with_thinking(turns)
        last_user = max(
            (number for number, (role, _) in enumerate(self._turns) if role == "user"), default=-1
        )
        for number, (role, turn) in enumerate(self._turns):
            if role == "user":
                self._add_user(turn)
            elif role == "assistant":
                self._check_answered()
                self.answers.add(
                    blocks_of(turn), keeps_thinking=with_thinking is None or number in with_thinking
                )
            else:
                self._add_later_system(turn, is_over=number < last_user)
        if self.answers.pending:
            self._check_answered()
        if self._turns[-1][0] == "assistant":
            self.is_prefilled = self.answers.end()

    def _turns_with_thinking(self, retained: int) -> set[int]:
        """Return the turns that keep their thinking."""
        thinking = {
            number: blocks
            for number, (role, turn) in enumerate(self._turns)
            if role == "assistant"
            and (blocks := [one for _, _, one in blocks_of(turn) if type(one) in THINKING])
        }
        self.cleared = [*thinking.values()][:-retained]
        return {*[*thinking][-retained:]}

    def _add_user(self, turn: Turn) -> None:
        parts: list[InputPart] = []
        place: tuple[int, int] | None = None
        answered: set[str] = set()
        for i, j, block in blocks_of(turn):
            path = block_path(i, j)
            if type(block) is ToolResultBlock:
                self._add_result(block, i, j, answered)
            elif type(block) is ContainerUpload:
                if not self._catalogue.has_code:
                    raise refusal(
                        path,
                        "A `container_upload` needs a code execution tool.",
                        "unsupported_value",
                    )
            elif (read := PARTS.get(type(block))) is not None:
                parts += read(block, path)
                place = place or (i, j)
            else:
                raise misplaced(block, path)
        if self.answers.pending:
            self._check_answered()
        if parts and place is not None:
            self.placed.add(*place, Message(role="user", content=simplest(parts)))

    def _add_result(self, block: ToolResultBlock, i: int, j: int, answered: set[str]) -> None:
        path = block_path(i, j)
        call_id = block.tool_use_id
        if call_id in answered:
            words = (
                "each tool_use must have a single result. Found multiple `tool_result` blocks "
                f"with id: {call_id}"
            )
            raise refusal(path, words)
        if self.answers.pending.pop(call_id, None) is None and not self._is_lenient:
            words = (
                f"unexpected `tool_use_id` found in `tool_result` blocks: {call_id}. "
                "Each `tool_result` block must have a corresponding `tool_use` block "
                "in the previous message."
            )
            raise refusal(path, words)
        answered.add(call_id)
        self.placed.add(i, j, output_of(block, path, self._catalogue, is_lenient=self._is_lenient))

    def _check_answered(self) -> None:
        """Check that the calls of the last turn have their results."""
        pending = self.answers.pending
        if pending and not self._is_lenient:
            ids = ", ".join(pending)
            (message, _) = next(iter(pending.values()))
            words = (
                "`tool_use` ids were found without `tool_result` blocks immediately after: "
                f"{ids}. Each `tool_use` block must have a corresponding `tool_result` block "
                "in the next message."
            )
            raise refusal(f"messages.{message}", words)
        pending.clear()

    def _add_later_system(self, turn: Turn, *, is_over: bool) -> None:
        """Add system messages where they are; `is_over` says that a user message follows."""
        for i, message in turn:
            if message.output_config is not None and message.output_config.effort is not None:
                self.effort = message.output_config.effort
            if is_over and message.clear_at == "next_user_message":
                continue
            parts: list[InputPart] = []
            for _, j, block in blocks_of([(i, message)]):
                if isinstance(block, TextBlock):
                    parts += [InputText(text=block.text)] if block.text else []
                elif isinstance(block, ToolAddition | ToolRemoval):
                    self._change_tools(block, f"{block_path(i, j)}.tool")
                else:
                    raise misplaced(block, block_path(i, j))
            if parts:
                self.placed.add(i, 0, Message(role="developer", content=simplest(parts)))

    def _change_tools(self, block: ToolAddition | ToolRemoval, path: str) -> None:
        kind = block.tool.get("type")
        name = str(block.tool.get("name") or block.tool.get("tool_name") or "")
        definition = block.tool.get("definition")
        is_addition = isinstance(block, ToolAddition)
        if kind in ("mcp_tool_reference", "mcp_toolset_reference"):
            return  # all tools of a server are offered from the start
        if is_addition and kind == "tool_definition" and isinstance(definition, dict):
            self._catalogue.define(definition, f"{path}.definition")
        elif kind != "tool_reference":
            raise refusal(f"{path}.type", "Input should be 'tool_reference' or 'tool_definition'")
        elif is_addition:
            self._catalogue.load(name, f"{path}.name", is_lenient=self._is_lenient)
        else:
            self._catalogue.remove(name)
