"""Earlier reasoning that goes back to the model: in the fields in which it arrived, and only if the
backend accepts it.

State sealed into `encrypted_content` is `{"family", "reasoning": {field: value}, "calls": {call_id:
{field: value}}}`, the last two if they have content, and its owner (`access/unseal.py`). Only the
family that created it receives its signatures; another receives the plain text (lesson L30).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from antiphon.protocol.items.messages import Compaction, Reasoning
from antiphon.translation.dialects.dialect import REASONING_FIELDS, SIGNED_ID, Dialect

Unseal = Callable[[str], dict[str, Any]]
"""Opens an `encrypted_content`; unreadable content is empty. Raises `ClientError` if that is not
acceptable.
"""

UNREADABLE = "[It was kept by another server and cannot be read here.]"


def nothing(blob: str) -> dict[str, Any]:
    """Open nothing."""
    return {}


def recount(compaction: Compaction, unseal: Unseal) -> str:
    """Return the text of a compaction."""
    summary = unseal(compaction.encrypted_content).get("summary")
    return summary if isinstance(summary, str) else UNREADABLE


_SIGNATURES = frozenset({"extra_content"})
"""Gemini's thought signatures, on calls and on messages."""

_OF_CALLS = _SIGNATURES | {SIGNED_ID, "provider_specific_fields"}
"""Those of calls: LiteLLM puts them into the id of a call, or into a field of its own (litellm
PR#16895, #41534).
"""

_TEXTS = ("reasoning_content", "reasoning", "thinking", "think")
"""Fields in which the text can be sealed: a field's name, Mistral's parts, tags."""


_BARE_TEXT = "think"
"""A field that no family sends back as it is, so that only the text counts."""


def replays(dialect: Dialect, context: str | None, *, is_current: bool, has_calls: bool) -> bool:
    """Return whether the reasoning of a turn goes back to the model, by the policy of its family.

    `context` is the request's `reasoning.context`; the other two say whether the turn is the last,
    and has calls.
    """
    if dialect.replay == "never" or (context == "current_turn" and not is_current):
        return False
    return dialect.replay == "always" or context == "all_turns" or has_calls


def is_signed(state: Mapping[str, Any]) -> bool:
    """Return whether sealed state has signatures, which go back whatever the policy."""
    fields = state.get("reasoning")
    return bool(state.get("calls")) or (
        isinstance(fields, dict) and not _SIGNATURES.isdisjoint(fields)
    )


class Recalled(Struct):
    """What one assistant message sends back.

    Reasoning is plain `text`, or `fields` of the message as the backend sent them. `signatures` of
    the message and, by call id, of its `calls` are not readable reasoning, and go back whatever the
    replay policy.
    """

    text: str = ""
    fields: dict[str, Any] = {}
    signatures: dict[str, Any] = {}
    calls: dict[str, dict[str, Any]] = {}

    def without_reasoning(self) -> "Recalled":
        """Return the signatures alone."""
        return Recalled(signatures=self.signatures, calls=self.calls)


def recall(items: Sequence[Reasoning], dialect: Dialect, unseal: Unseal) -> Recalled:
    """Return what the reasoning `items` before one answer send back to `dialect`."""
    recalled = Recalled()
    for item in items:
        state = unseal(item.encrypted_content) if item.encrypted_content else {}
        reasoning = _table(state.get("reasoning"))
        text = displayed_text(item) or plain_text(reasoning)
        recalled.text = (
            f"{recalled.text}\n\n{text}" if recalled.text and text else recalled.text or text
        )
        if state.get("family") != dialect.name:
            continue
        for name, value in reasoning.items():
            if name in REASONING_FIELDS:
                before = recalled.fields.get(name)
                recalled.fields[name] = value if before is None else _joined(before, value)
            elif name in _SIGNATURES:
                recalled.signatures[name] = value
        if calls := state.get("calls"):
            for call_id, extra in _table(calls).items():
                recalled.calls[call_id] = _known(extra, _OF_CALLS)
    return recalled


def recall_signature(
    recalled: Recalled, call_id: str, blob: str, dialect: Dialect, unseal: Unseal
) -> None:
    """Add the signature that a call carries itself, unless its reasoning had it."""
    state = unseal(blob)
    if state.get("family") == dialect.name:
        for extra in _table(state.get("calls")).values():
            recalled.calls.setdefault(call_id, _known(extra, _OF_CALLS))


def displayed_text(item: Reasoning) -> str:
    """Return the raw reasoning if the item shows it, otherwise its summary; empty for an item
    without any.
    """
    return "\n\n".join([part.text for part in (item.content or item.summary) if part.text])


def plain_text(reasoning: Any) -> str:
    """Return the reasoning that was sealed as text, empty without any."""
    table = _table(reasoning)
    return next((table[name] for name in _TEXTS if isinstance(table.get(name), str)), "")


def with_text(state: dict[str, Any], text: str) -> dict[str, Any]:
    """Return sealed state with the text of the reasoning, for an item that does not show it."""
    reasoning = _table(state.get("reasoning"))
    return (
        state if plain_text(reasoning) else {**state, "reasoning": {**reasoning, _BARE_TEXT: text}}
    )


def _joined(before: Any, value: Any) -> Any:
    """Join the values of two items in one field: texts as paragraphs, lists end to end; of other
    values the later one.
    """
    if isinstance(before, str) and isinstance(value, str):
        return f"{before}\n\n{value}"
    if isinstance(before, list) and isinstance(value, list):
        return before + value
    return value


def _known(value: Any, names: Iterable[str]) -> dict[str, Any]:
    table = _table(value)
    return {name: table[name] for name in names if name in table}


def _table(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
