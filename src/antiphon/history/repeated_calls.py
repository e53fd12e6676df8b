"""Calls that a client sends again although the history has them (specification section 24).

LiveKit's plugin sends the call before its output, together with `previous_response_id`, and without
the call's id.
"""

from collections.abc import Sequence
from typing import Any

from antiphon.protocol.items.messages import InputItem
from antiphon.protocol.validation.call_rules import CALLS, tie
from antiphon.translation.to_chat_completions.prefix import Prefix

_COMPARED = ("name", "arguments", "input", "action", "actions", "operation", "code")
"""Fields of a call that make it the same call."""


def without_repeated(
    provided: Sequence[InputItem],
    items: list[InputItem],
    history: Sequence[InputItem],
    prefix: Prefix | None,
) -> list[InputItem]:
    """Return the new input without the calls that the history already has, as they are stored
    there.

    `provided` is the input as the client sent it: only a call without an id is merged. `items` are
    the same, normalised. A call with another name or other arguments stays, so that `check_calls`
    rejects it.
    """
    stored = [bool(item.id) or type(item) not in CALLS for item in provided]
    if all(stored):
        return items
    ids = {tie(item) for item, is_stored in zip(items, stored, strict=True) if not is_stored} - {""}
    known = _known(ids, history, prefix)
    pairs = zip(items, stored, strict=True)
    return [
        item for item, is_stored in pairs if is_stored or not _is_same(item, known.get(tie(item)))
    ]


def _known(
    ids: set[str], history: Sequence[InputItem], prefix: Prefix | None
) -> dict[str, InputItem]:
    """Return the calls of the history with one of these ids."""
    if prefix is None:
        return {tie(item): item for item in history if type(item) in CALLS and tie(item) in ids}
    calls = prefix.log.calls
    length = prefix.length
    return {one: prefix.log.items[calls[one]] for one in ids if calls.get(one, length) < length}


def _is_same(call: Any, known: Any) -> bool:
    if type(call) is not type(known):
        return False
    named = not getattr(call, "namespace", None) or call.namespace == known.namespace
    return named and all(
        getattr(call, name, None) == getattr(known, name, None) for name in _COMPARED
    )
