"""The messages of a Chat request as those of the Messages API.

There, instructions are not messages, roles alternate, the results of one answer's calls are the
first blocks of the user message that follows it, and thinking has a position among the blocks of
its answer.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from antiphon.protocol.messages.wording import FAILED
from antiphon.translation.to_messages_api.content import Block, blocks_of, call_id_for, text_of

SYSTEM_ROLES = frozenset({"system", "developer"})

CONTINUED = "[The conversation began earlier.]"
"""The user message before a conversation that begins with an answer: the API requires one."""

LATE = "[Instructions of the system]"
"""Precedes instructions behind other messages, where not every model accepts them."""

THOUGHTS: Mapping[str, Sequence[str]] = {
    "thinking": ("thinking", "signature"),
    "redacted_thinking": ("data",),
}
"""The fields of each block of thinking; the last one is what the backend checks."""


class SentConversation:
    """A conversation, built message by message: `system` has its instructions as blocks, `messages`
    the rest.

    `with_thinking` is false if the backend rejected the thinking that it is sent back.
    """

    def __init__(self, messages: Iterable[Any], *, with_thinking: bool = True) -> None:
        self.system: list[Block] = []
        self.messages: list[dict[str, Any]] = []
        self.called: list[str] = []
        """The names of the tools that were called, each once."""
        self._with_thinking = with_thinking
        self._open: set[str] = set()
        """The calls of the newest answer that have no result yet."""
        for message in messages:
            if isinstance(message, dict):
                self._read(message)
        if not self.messages and self.system:
            self._add("user", self.system)
            self.system = []
        self._trim()

    @property
    def thinks(self) -> bool:
        """Whether the answer with the calls that are being answered begins with thinking; true
        without such calls.

        Older models require it if they are to think.
        """
        answers = [one for one in self.messages[-2:] if one["role"] == "assistant"]
        content = answers[-1]["content"] if answers else []
        is_tool_turn = any(block["type"] == "tool_use" for block in content)
        return not is_tool_turn or content[0]["type"] in THOUGHTS

    def _read(self, message: Mapping[str, Any]) -> None:
        role = message.get("role")
        if role in SYSTEM_ROLES:
            self._instruct(message)
        elif role == "assistant":
            self._answer(message)
        elif role == "tool":
            self._add("user", [self._result(message)])
        else:
            self._add("user", blocks_of(message.get("content")))

    def _instruct(self, message: Mapping[str, Any]) -> None:
        blocks = blocks_of(message.get("content"))
        if not self.messages:
            self.system += blocks
        elif blocks:
            self._add("user", [{"type": "text", "text": LATE}, *blocks])

    def _answer(self, message: Mapping[str, Any]) -> None:
        spoken = blocks_of(message.get("content"))
        if isinstance(refusal := message.get("refusal"), str):
            spoken += blocks_of(refusal)
        calls = [_call(call) for call in message.get("tool_calls") or () if isinstance(call, dict)]
        self._open = {call["id"] for call in calls}
        self.called += [one["name"] for one in calls if one["name"] not in self.called]
        thoughts = _thoughts(message.get("thinking_blocks")) if self._with_thinking else []
        last: Block = self.messages[-1] if self.messages else {"role": ""}
        before = len(last["content"]) if last["role"] == "assistant" else 0
        self._add("assistant", _placed(thoughts, [*spoken, *calls], before))

    def _result(self, message: Mapping[str, Any]) -> Block:
        call_id = call_id_for(str(message.get("tool_call_id")))
        content = blocks_of(message.get("content"))
        if call_id not in self._open:  # the API rejects a result without its call
            output = text_of(message.get("content"))
            return {"type": "text", "text": f"[Output of a tool]\n{output}"}
        self._open.discard(call_id)
        result: Block = {"type": "tool_result", "tool_use_id": call_id}
        first = content[0].get("text", "") if content else ""
        if first == FAILED or first.startswith(f"{FAILED}\n"):
            content = [*blocks_of(first.removeprefix(FAILED).lstrip("\n")), *content[1:]]
            result["is_error"] = True
        return {**result, "content": content} if content else result

    def _add(self, role: str, blocks: Sequence[Block]) -> None:
        if not blocks:
            return
        if not self.messages and role == "assistant":
            self._add("user", blocks_of(CONTINUED))
        if self.messages and self.messages[-1]["role"] == role:
            self.messages[-1]["content"] += blocks
        else:
            self.messages.append({"role": role, "content": [*blocks]})

    def _trim(self) -> None:
        """Drop whitespace from the end of an answer that the model continues: it is rejected."""
        last: Block = self.messages[-1] if self.messages else {"role": ""}
        if last["role"] == "assistant" and "text" in (block := last["content"][-1]):
            block["text"] = block["text"].rstrip()


def _call(call: Mapping[str, Any]) -> Block:
    function = call.get("function")
    function = function if isinstance(function, dict) else {}
    return {
        "type": "tool_use",
        "id": call_id_for(str(call.get("id"))),
        "name": str(function.get("name")),
        "input": _input(function.get("arguments")),
    }


def _input(arguments: Any) -> dict[str, Any]:
    """Return the arguments of a call as an object, whatever the model wrote."""
    try:
        value = msgspec.json.decode(arguments or "{}") if isinstance(arguments, str) else arguments
    except (ValueError, RecursionError):
        value = arguments
    return value if isinstance(value, dict) else {"arguments": value}


def _thoughts(stored: Any) -> list[tuple[int | None, Block]]:
    """Return the blocks of thinking with their places in the answer; those that nothing signs are
    omitted.
    """
    found: list[tuple[int | None, Block]] = []
    for block in stored if isinstance(stored, list) else ():
        fields = THOUGHTS.get(str(block.get("type"))) if isinstance(block, dict) else None
        if fields and block.get(fields[-1]):
            place = block.get("index")
            own = {"type": block["type"], **{name: block.get(name) or "" for name in fields}}
            found.append((place if isinstance(place, int) else None, own))
    return found


def _placed(
    thoughts: Sequence[tuple[int | None, Block]], others: Sequence[Block], before: int
) -> list[Block]:
    """Return all blocks of an answer; blocks of thinking have the places in which the model wrote
    them. The first `before` blocks of the answer were another message.
    """
    rest = [*reversed(others)]
    placed: list[Block] = []
    for place, block in thoughts:
        while place is not None and rest and before + len(placed) < place:
            placed.append(rest.pop())
        placed.append(block)
    return [*placed, *reversed(rest)]
