"""Which reasoning items of a request the model did not receive, and why
(specification section 24).
"""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from antiphon.access.unseal import Unsealer, state_origin
from antiphon.protocol.items.messages import InputItem, Message, Reasoning
from antiphon.protocol.validation.call_rules import CALLS
from antiphon.translation.dialects.dialect import Api
from antiphon.translation.to_chat_completions.hosted import RETOLD
from antiphon.translation.to_chat_completions.reasoning import (
    displayed_text,
    is_signed,
    plain_text,
    replays,
)
from antiphon.upstream.backend_state import ModelTarget

_WITH_CALLS = frozenset[type]({*CALLS, *RETOLD})
"""Items of a turn that has called tools."""


class Replay(Struct, frozen=True):
    """How reasoning went back to the model: the target, the API by which it was called,
    and `reasoning.context`.

    `removed` is what a backend with a Responses API did not use of it: only such a backend knows
    the end user and the prefix to which it tied its reasoning.
    """

    target: ModelTarget
    api: Api
    unseal: Unsealer
    context: str | None = None
    removed: Sequence[Mapping[str, Any]] = ()


def input_transformations(
    items: Sequence[InputItem], conversation: Sequence[InputItem], replay: Replay
) -> list[dict[str, Any]] | None:
    """Return `input_transformations` of a response, None if nothing was removed.

    `items` is the input of the request, and `conversation` all that the model could receive.
    Sealed reasoning counts as used if the model receives its text, even if another backend's
    signatures are dropped.
    """
    sealed = [item for item in items if type(item) is Reasoning and item.encrypted_content]
    if not sealed:
        return None
    behind = set() if replay.api == "responses" else _behind(conversation, replay)
    family = replay.target.dialect.name
    removals = []
    for item in sealed:
        state = replay.unseal(str(item.encrypted_content))
        is_own = state.get("family") == family
        is_behind = str(item.id) in behind
        if is_own and replay.api == "chat" and (not is_behind or is_signed(state)):
            continue  # most
        if reason := _reason(item, state, replay, is_own=is_own, is_behind=is_behind):
            removals.append(_removal(str(item.id), reason))
    return removals or None


def _removal(item_id: str, reason: str) -> dict[str, Any]:
    return {"type": "reasoning", "id": item_id, "action": "removed", "reason": reason}


def _behind(conversation: Sequence[InputItem], replay: Replay) -> set[str]:
    """Return the ids of the reasoning items that do not go back to the model because
    of their turn.
    """
    turn = 0
    with_calls = set[int]()
    turns = dict[str, int]()
    for item in conversation:
        if type(item) in _WITH_CALLS:
            with_calls.add(turn)
        elif type(item) is Reasoning:
            turns[str(item.id)] = turn
        elif isinstance(item, Message):
            turn += item.role == "user"
    dialect = replay.target.dialect
    context = replay.context
    silent = {
        its
        for its in {*turns.values()}
        if not replays(dialect, context, is_current=its == turn, has_calls=its in with_calls)
    }
    return {item_id for item_id, its in turns.items() if its in silent} if silent else set()


def _reason(
    item: Reasoning, state: dict[str, Any], replay: Replay, *, is_own: bool, is_behind: bool
) -> str:
    """Return why an item with this state was removed, empty if it was not."""
    target = replay.target
    dialect = target.dialect
    has_text = bool(displayed_text(item) or plain_text(state.get("reasoning")))
    takes_text = dialect.replay != "never"
    if replay.api == "responses":
        is_own = (
            is_own
            and state.get("origin") == state_origin(target)
            and isinstance(state.get("native"), dict)
        )
        if not (is_own or (takes_text and has_text)):
            return _mismatch(state)
        return _reported(replay.removed, state["native"].get("id") if is_own else item.id)
    if not (takes_text and (is_own or (dialect.reasoning and has_text))):
        return _mismatch(state)
    return "turn_boundary" if is_behind else ""


def _mismatch(state: dict[str, Any]) -> str:
    return "model_mismatch" if state else "organization_mismatch"


def _reported(removed: Sequence[Mapping[str, Any]], sent_id: object) -> str:
    """Return why the backend removed the item that it received under this id,
    empty if it reports none.
    """
    reasons = (
        one.get("reason")
        for one in removed
        if one.get("type") == "reasoning" and one.get("id") == sent_id
    )
    return str(next(reasons, None) or "")
