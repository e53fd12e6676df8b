"""What the model thought before goes back to it: in the fields it came in, and only where the backend wants it.

State sealed into `encrypted_content` is `{"family", "reasoning": {field: value}, "calls": {call_id: {field: value}}}`.
Only the family that made it gets its signatures back; another gets the plain text (lesson L30).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from antiphon.chat.dialects import REASONING_FIELDS, Dialect
from antiphon.chat.sealed import unseal
from antiphon.protocol.items import Reasoning

_CALL_FIELDS = frozenset({"extra_content"})
_PLAIN_FIELDS = ("reasoning_content", "reasoning")


@dataclass(slots=True)
class Recalled:
    """What one assistant message carries back: plain `text`, message `fields`, and fields of `calls` by call id."""

    text: str = ""
    fields: dict[str, Any] = field(default_factory=dict)
    calls: dict[str, dict[str, Any]] = field(default_factory=dict)


def recall(items: Sequence[Reasoning], dialect: Dialect) -> Recalled:
    """Return what the reasoning `items` before one answer carry back to `dialect`.

    Raises `ClientError` (`invalid_encrypted_content`) where an item's state is not ours.
    """
    recalled = Recalled()
    for item in items:
        _add(recalled, item, dialect)
    return recalled


def _add(recalled: Recalled, item: Reasoning, dialect: Dialect) -> None:
    state = unseal(item.encrypted_content) if item.encrypted_content else {}
    is_ours = state.get("family") == dialect.name
    fields = _known(state.get("reasoning"), REASONING_FIELDS)
    text = _shown_text(item) or _plain_text(fields)
    recalled.text = "\n\n".join(filter(None, (recalled.text, text)))
    if is_ours:
        for name, value in fields.items():
            recalled.fields[name] = _joined(recalled.fields.get(name), value)
        for call_id, extra in _table(state.get("calls")).items():
            recalled.calls.setdefault(call_id, {}).update(_known(extra, _CALL_FIELDS))


def _shown_text(item: Reasoning) -> str:
    """Return the raw reasoning where the item shows it, else its summary."""
    return "\n\n".join(part.text for part in (item.content or item.summary) if part.text)


def _plain_text(fields: dict[str, Any]) -> str:
    return next((fields[name] for name in _PLAIN_FIELDS if isinstance(fields.get(name), str)), "")


def _joined(before: Any, value: Any) -> Any:
    """Join what two items say in one field: texts as paragraphs, lists end to end; of other values the later one."""
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
