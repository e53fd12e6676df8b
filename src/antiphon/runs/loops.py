"""Counts identical rounds of calls in a conversation, and adds a note for a model
that repeats them.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

import msgspec

from antiphon.protocol.items.content import InputText
from antiphon.protocol.items.hosted import (
    CodeInterpreterCall,
    FileSearchCall,
    McpCall,
    McpListTools,
    WebSearchCall,
)
from antiphon.protocol.items.messages import InputItem, ItemList, Message, Reasoning
from antiphon.protocol.validation.call_rules import CALLS, OUTPUTS, tie
from antiphon.translation.to_chat_completions.prefix import joined
from antiphon.translation.writer import Note

PERIODS = (1, 2, 3)
"""Maximum length, in calls, of a repeated round."""

STUCK = 2
"""Multiple of the limit at which the response ends because the note had no effect."""

MOST = 100
"""The highest limit of repetitions; it bounds the part of a conversation that is compared."""

_HOSTED = (McpCall, WebSearchCall, FileSearchCall, CodeInterpreterCall)
"""Items that are a call and its result."""

_CREATED = frozenset({*CALLS, *OUTPUTS, *_HOSTED, McpListTools, Reasoning})
"""Items of a working model other than its messages."""

_SAME = ("name", "arguments", "input", "action", "queries", "operation", "error", "code", "outputs")
"""Fields of a call and its output that are compared, besides the output itself."""

_VOLATILE = re.compile(
    r"\b[0-9a-f]{6,64}\b|\b[0-9]{1,9}(?:\.[0-9]{1,9})? ?(?:ms|s|secs?|seconds?)\b"
    r"|\b[0-9]{1,2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,9})?)?\b|\b[0-9]{4}-[0-9]{2}-[0-9]{2}"
)
"""Differences to ignore when results are compared: Codex adds an id and a duration
to each command.
"""

_COMPARED_CHARACTERS = 2000
"""Characters of a result that are compared, at its beginning and at its end."""

NUDGED: Note = ("loop", "nudged")
STOPPED: Note = ("loop", "stopped")

NUDGE = """\
The last {count} rounds of calls were identical, and so were their results: the same call again will not help. \
Do something else: call another tool, use other arguments, or answer with what is known, and say what failed."""  # noqa: E501 - the lines of a text


def repetitions(items: Sequence[InputItem]) -> int:
    """Return how often the newest calls were repeated with the same results, in a row;
    0 on their first occurrence.

    A call counts once it has its output. A user's message resets the count.
    """
    calls = list(islice(_rounds(items), max(PERIODS) + 1))
    if not calls or not any(calls[0] == calls[period] for period in PERIODS if period < len(calls)):
        return 0
    calls = list(islice(_rounds(items), max(PERIODS) * (STUCK * MOST + 1)))
    return max(_run(calls, period) for period in PERIODS)


def nudged(items: Sequence[InputItem], limit: int) -> tuple[Sequence[InputItem], Note | None]:
    """Return the conversation with the note for the model, if any, and whether it was added or the
    model is stopped.

    `limit` is the number of repetitions at which the note is added, 0 for no limit; at `STUCK`
    times the limit it ends.
    """
    if not limit or (isinstance(items, ItemList) and items.kinds.isdisjoint(_CREATED)):
        return items, None
    count = repetitions(items)
    if count < limit:
        return items, None
    content = Message(role="developer", content=[InputText(text=NUDGE.format(count=count))])
    return joined(items, [content]), STOPPED if count >= limit * STUCK else NUDGED


def _run(calls: Sequence[Any], period: int) -> int:
    """Return how often the newest `period` calls occur at the end; fewer than two counts as 0."""
    pairs = zip(calls, calls[period:], strict=False)
    same = next(
        (place for place, (one, other) in enumerate(pairs) if one != other), len(calls) - period
    )
    return same // period + 1 if same >= period else 0


def _rounds(items: Sequence[InputItem]) -> Iterator[tuple[Any, ...]]:
    """Yield calls with their outputs in comparable form, newest first, back to the last message
    of a user.
    """
    outputs: dict[str, Any] = {}
    for item in _newest(items):
        if type(item) in OUTPUTS:
            outputs[tie(item)] = item
        elif type(item) in CALLS and (output := outputs.pop(tie(item), None)) is not None:
            yield _signature(item, output)
        elif (
            isinstance(item, WebSearchCall)
            and isinstance(item.action, dict)
            and item.action.get("type") == "open_page"
        ):
            yield (item.id,)  # the item does not contain which part of the page was read
        elif isinstance(item, _HOSTED):
            yield _signature(item)


def _newest(items: Sequence[InputItem]) -> Iterator[InputItem]:
    for item in reversed(items):
        is_stated = isinstance(item, Message) and item.role == "assistant"
        if not (is_stated or type(item) in _CREATED):
            return
        yield item


def _signature(*items: Any) -> tuple[Any, ...]:
    return tuple(_values(items))


def _values(items: Iterable[Any]) -> Iterator[Any]:
    for item in items:
        yield type(item)
        yield from (getattr(item, name, None) or None for name in _SAME)
        output = getattr(item, "output", None)
        yield _Result(output) if output else None


class _Result:
    """An output, compared without the parts that always differ, and only where the calls
    are the same.
    """

    __slots__ = ("_output", "_steady")

    def __init__(self, output: Any) -> None:
        self._output = output
        self._steady = ""

    @property
    def steady(self) -> str:
        self._steady = self._steady or _steady(self._output)
        return self._steady

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Result) and self.steady == other.steady

    __hash__ = None  # type: ignore[assignment]


def _steady(output: Any) -> str:
    text = output if isinstance(output, str) else msgspec.json.encode(output).decode()
    ends = (
        text
        if len(text) <= 2 * _COMPARED_CHARACTERS
        else text[:_COMPARED_CHARACTERS] + text[-_COMPARED_CHARACTERS:]
    )
    return _VOLATILE.sub("#", ends)
