"""`context_management` of the Messages API: what is removed of a long conversation before the model
receives it, and what the answer reports of that.

| Edit | What it removes |
|---|---|
| `clear_thinking_*` | the thinking of all turns but the newest |
| `clear_tool_uses_*` | the results of all calls but the newest, once the prompt is long |
| `compact_*` | nothing here: the run compacts the conversation |

Tokens are estimated from sizes: an edit is decided before any backend can count. Clients send the
whole conversation each time. Source: Anthropic's documentation of context editing.
"""

from collections.abc import Container, Mapping, Sequence
from typing import Any

from msgspec import Struct, field

from antiphon.protocol.items.content import InputText
from antiphon.protocol.items.messages import FunctionCall, FunctionCallOutput, InputItem
from antiphon.protocol.messages.blocks import RedactedThinkingBlock, ThinkingBlock
from antiphon.protocol.messages.requests import Conversation
from antiphon.protocol.messages.wording import not_supported, refusal
from antiphon.protocol.requests import ContextManagement
from antiphon.translation.to_chat_completions.tokens import BYTES_PER_TOKEN, MEDIUM, text_bytes

USUAL_COMPACTION = 150_000
"""Tokens from which a conversation is compacted, if the client sets no number; the least is
1,000.
"""

USUAL_TRIGGER = 100_000
"""Tokens of a prompt from which results of calls are removed, if the client sets no trigger."""

USUAL_RETAINED = 3
"""Calls that keep their results."""

CLEARED = "[Old tool result content cleared]"
"""What the model reads in place of a result."""

NO_ARGUMENTS = "{}"

_TOKENS, _USES = "input_tokens", "tool_uses"


class ClearToolUses(Struct, frozen=True):
    """Which results of calls are removed, and when."""

    kind: str
    """The dated type, by which the answer reports the edit."""
    trigger: tuple[str, int] = (_TOKENS, USUAL_TRIGGER)
    """Tokens of the prompt, or calls, above which results are removed."""
    retained: int = USUAL_RETAINED
    least: int = 0
    """Tokens that must be removed at least: else nothing is, because it changes the prompt that the
    backend has cached.
    """
    excluded: Container[str] = ()
    """The tools with results that are kept."""
    inputs: bool | Container[str] = False
    """Whether the arguments of the calls are removed too; or the tools of which they are."""


class ContextEdits(Struct):
    """The edits of one request."""

    thinking_kind: str = ""
    """The dated type of the edit of thinking, empty without one."""
    thinking_turns: int | None = None
    """How many turns keep their thinking, None for all."""
    tool_uses: ClearToolUses | None = None
    compaction: list[ContextManagement] | None = None
    applied: list[dict[str, Any]] = field(default_factory=list)
    """`applied_edits` of the answer."""

    @property
    def cleared_tokens(self) -> int:
        """The estimated tokens that were removed."""
        return sum(one["cleared_input_tokens"] for one in self.applied)

    def note_thinking(self, blocks: Sequence[Sequence[Any]]) -> None:
        """Report the blocks of thinking that were removed, by turn."""
        if blocks:
            size = sum(_thinking_size(block) for turn in blocks for block in turn)
            self.applied.append(
                {
                    "type": self.thinking_kind,
                    "cleared_thinking_turns": len(blocks),
                    "cleared_input_tokens": size // BYTES_PER_TOKEN,
                }
            )

    def clear_tool_uses(self, items: list[InputItem], tokens: int) -> None:
        """Remove the results of old calls from the items of a prompt; `tokens` is its size."""
        edit = self.tool_uses
        if edit is None:
            return
        calls = {item.call_id: item for item in items if type(item) is FunctionCall}
        answered = [
            (place, item, call)
            for place, item in enumerate(items)
            if type(item) is FunctionCallOutput
            and (call := calls.get(str(item.call_id))) is not None
        ]
        what, most = edit.trigger
        if (len(answered) if what == _USES else tokens - self.cleared_tokens) <= most:
            return
        old = answered[: max(0, len(answered) - edit.retained)]
        changed = [one for one in old if one[2].name not in edit.excluded]
        freed = sum(_freed(edit, output, call) for _, output, call in changed) // BYTES_PER_TOKEN
        if not changed or freed < edit.least:
            return
        for place, output, call in changed:
            items[place] = FunctionCallOutput(call_id=output.call_id, output=CLEARED)
            if _clears_input(edit, call):
                call.arguments = NO_ARGUMENTS
        self.applied.append(
            {
                "type": edit.kind,
                "cleared_tool_uses": len(changed),
                "cleared_input_tokens": freed,
            }
        )


NO_EDITS = ContextEdits()
"""What a request without `context_management` has."""


def read_edits(body: Conversation) -> ContextEdits:
    """Return the edits of a request.

    Raises `ClientError` (400) for one that this server does not know, and for a wrong number.
    """
    found = ContextEdits()
    edits = body.context_management.edits if body.context_management else None
    for index, edit in enumerate(edits or ()):
        path = f"context_management.edits.{index}"
        kind = str(edit.get("type") or "")
        if kind.startswith("clear_thinking_"):
            found.thinking_kind = kind
            found.thinking_turns = _thinking_turns(edit.get("keep"), f"{path}.keep")
        elif kind.startswith("clear_tool_uses_"):
            found.tool_uses = _tool_uses(kind, edit, path)
        elif kind.startswith("compact_"):
            least = _number(edit, "trigger", path, USUAL_COMPACTION, 1000)
            found.compaction = [ContextManagement(compact_threshold=least)]
        else:
            raise not_supported(f"{path}.type", kind)
    return found


def _thinking_turns(retained: Any, path: str) -> int | None:
    if retained == "all":
        return None
    if isinstance(retained, dict) and retained.get("type") == "all":
        return None
    value = 1 if retained is None else retained.get("value") if isinstance(retained, dict) else None
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise refusal(path, "Input should be 'all' or a number of thinking turns")
    return value


def _tool_uses(kind: str, edit: Mapping[str, Any], path: str) -> ClearToolUses:
    trigger = edit.get("trigger") or {}
    what = str(trigger.get("type") or _TOKENS) if isinstance(trigger, dict) else _TOKENS
    if what not in (_TOKENS, _USES):
        raise refusal(f"{path}.trigger.type", f"Input should be '{_TOKENS}' or '{_USES}'")
    inputs = edit.get("clear_tool_inputs") or False
    return ClearToolUses(
        kind,
        (what, _number(edit, "trigger", path, USUAL_TRIGGER, 1)),
        _number(edit, "keep", path, USUAL_RETAINED, 0),
        _number(edit, "clear_at_least", path, 0, 0),
        _names(edit.get("exclude_tools") or (), f"{path}.exclude_tools"),
        inputs if isinstance(inputs, bool) else _names(inputs, f"{path}.clear_tool_inputs"),
    )


def _number(edit: Mapping[str, Any], name: str, path: str, usual: int, least: int) -> int:
    """Return the `value` of an option."""
    option = edit.get(name)
    if option is None:
        return usual
    value = option.get("value") if isinstance(option, dict) else None
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value < 2**31:
        raise refusal(f"{path}.{name}.value", f"Input should be greater than or equal to {least}")
    return value


def _names(value: Any, path: str) -> frozenset[str]:
    if not isinstance(value, list | tuple) or not all(isinstance(name, str) for name in value):
        raise refusal(path, "Input should be a list of names of tools")
    return frozenset(value)


# Sizes.


def _clears_input(edit: ClearToolUses, call: FunctionCall) -> bool:
    inputs = edit.inputs
    return inputs if isinstance(inputs, bool) else call.name in inputs


def _freed(edit: ClearToolUses, output: FunctionCallOutput, call: FunctionCall) -> int:
    """Return how many bytes of a call and its result are removed."""
    freed = max(0, _size(output) - len(CLEARED))
    return freed + (text_bytes(call.arguments) if _clears_input(edit, call) else 0)


def _size(output: FunctionCallOutput) -> int:
    content = output.output
    if isinstance(content, str):
        return text_bytes(content)
    medium = MEDIUM * BYTES_PER_TOKEN
    return sum(text_bytes(part.text) if isinstance(part, InputText) else medium for part in content)


def _thinking_size(block: ThinkingBlock | RedactedThinkingBlock) -> int:
    """Return the bytes of a block of thinking: its sealed state has the text too."""
    sealed = block.data if isinstance(block, RedactedThinkingBlock) else block.signature or ""
    visible = block.thinking if isinstance(block, ThinkingBlock) else ""
    return max(text_bytes(sealed), text_bytes(visible))
