"""Items grouped as Chat Completions thinks of them: an answer is its reasoning, text and calls, with their outputs.

The Responses API is a flat list of items; Chat wants one assistant message for parallel calls, and right behind it
one tool message a call. So outputs move up behind the answer that called; all else keeps its order.
"""

from collections.abc import Sequence

from msgspec import Struct, field

from antiphon.protocol.items.messages import InputItem, Message, Reasoning
from antiphon.protocol.validation.call_rules import CALLS, OUTPUTS, Call, Output, tie
from antiphon.translation.to_chat.history_view import Placed
from antiphon.translation.to_chat.hosted import ServedCall

_CALLS = frozenset({*CALLS, ServedCall})
_OF_ANSWERS = frozenset({Reasoning, *_CALLS})


class Answer(Struct):
    """One assistant message in the making, and the outputs of its calls as (index in the items, output)."""

    turn: int
    reasoning: list[Reasoning] = field(default_factory=list)
    messages: list[Message] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    outputs: list[tuple[int, Output]] = field(default_factory=list)


Said = tuple[int, Message]
"""A message of the user's or the system's, with its index in the items."""


class Exchanges(Struct):
    """The conversation; `turn` counts the user's messages so far, and `tool_turns` are those with calls."""

    groups: list[Answer | Said] = field(default_factory=list)
    tool_turns: set[int] = field(default_factory=set)
    turn: int = 0


def group(items: Sequence[Placed]) -> Exchanges:
    """Group what is shown. An output whose call is missing makes an answer of its own, without a call."""
    exchanges = Exchanges()
    outputs: dict[str, list[tuple[int, Output]]] = {}
    for index, item in items:
        if type(item) in OUTPUTS:
            outputs.setdefault(tie(item), []).append((index, item))  # type: ignore[arg-type]
    answer: Answer | None = None
    for index, item in items:
        if type(item) in _OF_ANSWERS or (isinstance(item, Message) and item.role == "assistant"):
            answer = _answer_for(item, answer, exchanges)
            _extend(answer, item, outputs)
            if answer.calls:
                exchanges.tool_turns.add(answer.turn)
            continue
        answer = None
        if isinstance(item, Message):
            exchanges.turn += item.role == "user"
            exchanges.groups.append((index, item))
        elif type(item) in OUTPUTS and tie(item) in outputs:
            exchanges.groups.append(Answer(exchanges.turn, outputs=outputs.pop(tie(item))))
    return exchanges


def _answer_for(item: InputItem, answer: Answer | None, exchanges: Exchanges) -> Answer:
    """Return the answer that `item` belongs to.

    Text and reasoning after text begin another answer, unless calls are open: nothing may come between those and
    their outputs.
    """
    if answer is None or (answer.messages and not answer.calls and type(item) not in _CALLS):
        answer = Answer(exchanges.turn)
        exchanges.groups.append(answer)
    return answer


def _extend(answer: Answer, item: InputItem, outputs: dict[str, list[tuple[int, Output]]]) -> None:
    if isinstance(item, Reasoning):
        answer.reasoning.append(item)
    elif isinstance(item, Message):
        answer.messages.append(item)
    elif type(item) in _CALLS:
        answer.calls.append(item)  # type: ignore[arg-type]
        answer.outputs += outputs.pop(tie(item), [])
