"""What the turns of a chain share: its items, what is known of them, and their messages.

A chain grows at its end, and so does a history that a client sends again with each turn. So all its
items are in one list, a `ChainLog`; each response has a beginning of it, a `Prefix`, and a new turn
adds only its own items. If two responses follow the same one, the second receives a copy. The
messages of a log are stored per dialect in the same way, as values and as JSON (`Rendering`);
`messages.py` creates them.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
from msgspec import Raw

from antiphon.protocol.items.calls import ToolSearchCall, ToolSearchOutput
from antiphon.protocol.items.messages import InputItem, ItemList, Message, Reasoning
from antiphon.protocol.json_pieces import LONG, pieces, weight
from antiphon.protocol.known_inputs import SentTexts
from antiphon.protocol.tool_bindings import Key
from antiphon.protocol.validation.call_rules import CALLS, OUTPUTS, check_calls, tie
from antiphon.sizes import ITEM, LARGE
from antiphon.translation.dialects.dialect import Dialect
from antiphon.translation.to_chat_completions.history import becomes_message
from antiphon.translation.to_chat_completions.marks import SYSTEM_ROLES

INDEPENDENT = frozenset[type]({Message, Reasoning, *CALLS, *OUTPUTS}).difference(
    [ToolSearchCall, ToolSearchOutput]
)
"""Items that become the same messages whatever later turns contain."""

LOG = 64
"""Bytes of a log that take as long as a byte of a client's JSON: about a fourth of them are text.
"""

MUCH = LARGE * LOG
"""Bytes of a log above which it is large."""

MOST_RENDERINGS = 2
"""Renderings that a log keeps. A chain seldom needs a second; the size of a log does not include
the others.
"""

Form = tuple[Dialect, str | None, str]
"""What the messages of items depend on: the dialect, `reasoning.context`, and the token of marked
system messages.
"""

_encode = msgspec.json.Encoder().encode


@dataclass(slots=True)
class Rendering:
    """The messages of a log's items up to `end`, where a turn or a step of a turn begins, in one
    dialect.
    """

    messages: list[dict[str, Any]] = field(default_factory=list)
    arrays: list[bytes] = field(default_factory=list)
    """The same messages as JSON, one array for those of each addition."""
    bounds: dict[int, tuple[int, int]] = field(default_factory=lambda: {0: (0, 0)})
    """How many `messages` and `arrays` the items up to a position became."""
    names: dict[Key, str] = field(default_factory=dict)
    """The names of the tools that are called in it."""
    end: int = 0

    def add(
        self,
        messages: list[dict[str, Any]],
        end: int,
        names: dict[Key, str],
        size: int = 0,
        texts: SentTexts | None = None,
    ) -> None:
        """Add the messages of the items from the former `end` to the new one.

        The bound is set last: see `ChainLog`.

        Those of a log of more than `MUCH` bytes are encoded in pieces. The JSON of `texts` is
        copied.
        """
        self.names |= names
        if messages:
            encode = _encode if size <= MUCH else _encode_in_pieces
            self.arrays.append(encode(_with_json(messages, texts) if texts else messages))
            self.messages += messages
        self.end = end
        self.bounds[end] = len(self.messages), len(self.arrays)

    def copied(self, end: int) -> "Rendering":
        """Return the part up to the last bound that is not behind `end`."""
        known = dict(self.bounds)
        last = max(bound for bound in known if bound <= end)
        messages, arrays = known[last]
        bounds = {bound: counts for bound, counts in known.items() if bound <= last}
        return Rendering(
            self.messages[:messages], self.arrays[:arrays], bounds, dict(self.names), last
        )


@dataclass(slots=True, eq=False)
class ChainLog:
    """The items of a chain, and the positions of its calls and their outputs.

    Its renderings are created where the request that needs them is translated: on the event loop,
    or in a thread once the log is large (`work`). A tenant holds one thread, so no two work on
    them. The loop can copy them meanwhile: the part up to a bound does not change, and a restarted
    rendering is a new object.
    """

    items: list[InputItem] = field(default_factory=list)
    calls: dict[str, int] = field(default_factory=dict)
    outputs: dict[str, int] = field(default_factory=dict)
    renderings: dict[Form, Rendering] = field(default_factory=dict)
    size: int = 0
    """About how many bytes it takes."""
    has_files: bool = False
    """Whether it has files that were read: `size` does not include their text and images, so no
    rendering keeps them.
    """
    is_sent: bool = False
    """Whether the items are of the request's own input: what a backend cannot accept of them is an
    error.
    """

    def copied(self, length: int) -> "ChainLog":
        """Return a log of the first items, which grows independently."""
        return ChainLog(
            self.items[:length],
            {call_id: place for call_id, place in self.calls.items() if place < length},
            {call_id: place for call_id, place in self.outputs.items() if place < length},
            {key: rendering.copied(length) for key, rendering in list(self.renderings.items())},
            self.size,
            self.has_files,
            self.is_sent,
        )

    @property
    def work(self) -> int:
        """Bytes of a client's JSON that take as long, when its messages are created and encoded. It
        never shrinks.
        """
        return max(len(self.items) * ITEM, self.size // LOG)


@dataclass(frozen=True, slots=True)
class Prefix:
    """The first items of a log, and what is known of them."""

    log: ChainLog = field(default_factory=ChainLog)
    length: int = 0
    kinds: frozenset[type] = frozenset()
    open: tuple[str, ...] = ()
    """The calls that wait for their output."""
    last_user: int = 0
    """The position of the last user message."""
    last_step: int = 0
    """The last position where the model continues after outputs, and no call waits for one: an
    answer begins there.
    """
    is_sound: bool = True
    """Whether calls and outputs are paired, except the `open` ones."""
    is_apart: bool = True
    """Whether the messages of a turn depend on no other turn."""
    leading: int = 0
    """The position behind the system and developer messages before which nothing else becomes a
    message.
    """
    has_late_system: bool = False
    """Whether it contains one after other messages."""
    is_silent: bool = True
    """Whether none of its items becomes a message, except the `leading` ones."""

    def rendering(self, form: Form) -> Rendering:
        """Return the messages that are known of the log, none at first; a new rendering replaces
        the oldest one.
        """
        return self.log.renderings.get(form) or self.render_again(form)

    def render_again(self, form: Form) -> Rendering:
        """Return an empty rendering that replaces the known one, if any."""
        renderings = self.log.renderings
        if form not in renderings and len(renderings) == MOST_RENDERINGS:
            del renderings[next(iter(renderings))]
        found = renderings[form] = Rendering()
        return found

    def render_up_to(self, form: Form, end: int) -> Rendering:
        """Return a rendering that replaces the known one, of the part up to its last bound that is
        not behind `end`.
        """
        found = self.log.renderings[form] = self.rendering(form).copied(end)
        return found

    @property
    def items(self) -> list[InputItem]:
        """The items, in a separate list."""
        return self.log.items[: self.length]

    def extended(self, items: Sequence[InputItem], size: int = 0) -> "Prefix":
        """Return the prefix that ends with these items, which take about `size` bytes."""
        is_newest = self.length == len(self.log.items)
        log = self.log if is_newest else self.log.copied(self.length)
        open_calls = dict.fromkeys(self.open)
        added = _Added(
            log,
            open_calls,
            self.last_user,
            self.last_step,
            self.is_sound,
            self.is_apart,
            self.leading,
            self.has_late_system,
            self.is_silent,
        )
        added.add(items)
        log.size += size
        kinds = self.kinds.union(map(type, items))
        return Prefix(
            log,
            len(log.items),
            self.kinds if kinds == self.kinds else kinds,
            tuple(added.open),
            added.last_user,
            added.last_step,
            added.is_sound,
            added.is_apart and kinds <= INDEPENDENT,
            added.leading,
            added.has_late_system,
            added.is_silent,
        )

    def check_calls(self, new: Sequence[InputItem]) -> None:
        """Check that calls and outputs are paired once the `new` items follow; raises as
        `check_calls`.
        """
        if not self.is_sound:
            check_calls([*self.items, *new])
            return
        log = self.log
        ties = {tie(item) for item in new if type(item) in CALLS or type(item) in OUTPUTS}
        places = {log.calls[call_id] for call_id in self.open}
        for found in (log.calls, log.outputs):
            places |= {
                found[call_id] for call_id in ties if found.get(call_id, self.length) < self.length
            }
        check_calls([*(log.items[place] for place in sorted(places)), *new])


@dataclass(slots=True)
class _Added:
    """The new state of a prefix while items are added."""

    log: ChainLog
    open: dict[str, None]
    last_user: int
    last_step: int
    is_sound: bool
    is_apart: bool
    leading: int
    has_late_system: bool
    is_silent: bool

    def add(self, items: Sequence[InputItem]) -> None:
        before = type(self.log.items[-1]) if self.log.items else None
        for place, item in enumerate(items, len(self.log.items)):
            kind = type(item)
            if before in OUTPUTS and not self.open:
                self.last_step = place
            if type(item) is Message:
                if item.role in SYSTEM_ROLES:
                    self.leading = place + 1 if self.is_silent else self.leading
                    self.has_late_system |= not self.is_silent
                elif item.role == "user":
                    self.last_user = place
                    self.is_silent = False
                elif self.is_silent:
                    self.is_silent = not becomes_message(item)
            elif kind in CALLS:
                self.is_silent = False
                call_id = item.call_id or tie(item)  # type: ignore[union-attr]
                self.is_sound &= (
                    bool(call_id)
                    and call_id not in self.log.calls
                    and not getattr(item, "async_", None)
                )
                self.log.calls.setdefault(call_id, place)
                self.open[call_id] = None
            elif kind in OUTPUTS:
                self.is_silent = False
                call_id = item.call_id or tie(item)  # type: ignore[union-attr]
                self.is_sound &= call_id in self.open
                self.is_apart &= self.log.calls.get(call_id, 0) >= self.last_user
                self.log.outputs.setdefault(call_id, place)
                self.open.pop(call_id, None)
            before = kind
        self.log.items += items


class ModelConversation(ItemList):
    """Everything that the model receives, the beginning of which can be a chain's."""

    __slots__ = ("prefix", "texts")

    def __init__(
        self,
        items: Iterable[InputItem] = (),
        prefix: Prefix | None = None,
        texts: SentTexts | None = None,
    ) -> None:
        super().__init__(items)
        self.prefix = prefix
        self.texts = texts
        """Of the prefix, until its messages are JSON."""
        self.kinds = (
            prefix.kinds.union(map(type, self[prefix.length :]))
            if prefix
            else frozenset(map(type, self))
        )


def joined(items: Sequence[InputItem], more: Sequence[InputItem]) -> Sequence[InputItem]:
    """Return a conversation that continues with `more`."""
    if not more:
        return items
    return ModelConversation(
        [*items, *more], items.prefix if isinstance(items, ModelConversation) else None
    )


class Messages(list[dict[str, Any]]):
    """The messages of a request, some of which are already JSON."""

    __slots__ = ("_arrays", "_known")

    def __init__(
        self,
        first: list[dict[str, Any]],
        rendering: Rendering,
        cut: int,
        rest: list[dict[str, Any]],
    ) -> None:
        count, arrays = rendering.bounds[cut]
        super().__init__(first)
        self += (
            rendering.messages if count == len(rendering.messages) else rendering.messages[:count]
        )
        self += rest
        self._known = slice(len(first), len(first) + count)
        self._arrays = rendering.arrays[:arrays]

    @property
    def is_mostly_known(self) -> bool:
        """Whether some of them are JSON already, which is copied in a few milliseconds, and others
        are not.
        """
        return 0 < sum(map(len, self._arrays)) <= MUCH and self._known.stop < len(self)

    @property
    def unknown(self) -> list[dict[str, Any]]:
        """The messages that are not JSON yet."""
        return [*self[: self._known.start], *self[self._known.stop :]]

    def encoded(self, before: bytes, behind: bytes, encode: Callable[[Any], bytes]) -> bytes:
        """Return them as JSON between other bytes. The JSON of known messages is copied, once."""
        first = self[: self._known.start]
        rest = self[self._known.stop :]
        if not (rest and self._arrays):
            return b"".join((before, encode(list(self)), behind))
        arrays = [*([_encode(first)] if first else ()), *self._arrays, encode(rest)]
        parts: list[bytes | memoryview] = [before, b"["]
        for array in arrays:
            parts += memoryview(array)[1:-1], b","
        parts[-1] = b"]"
        return b"".join((*parts, behind))


class Functions(list[dict[str, Any]]):
    """The tools of a request, and their JSON: requests with the same tools share both, so they are
    not changed.
    """

    __slots__ = ("json",)

    def __init__(self, functions: Iterable[dict[str, Any]]) -> None:
        super().__init__(functions)
        self.json = Raw(b"".join(pieces(list(self), _encode)))


def _with_json(messages: list[dict[str, Any]], texts: SentTexts) -> list[dict[str, Any]]:
    """Return messages with the JSON of their contents where that is known."""
    written = messages[:]
    for place, message in enumerate(messages):
        content = message.get("content")
        if type(content) is str and (sent := texts.get(id(content))):
            written[place] = {**message, "content": sent[1]}
    return written


def encode_body(body: dict[str, Any], size: int = 0) -> bytes:
    """Return a request to a backend as JSON; large JSON, by its `size` in bytes, in pieces."""
    encode = _encode if size <= LARGE else _encode_in_pieces
    tools = body.get("tools")
    if type(tools) is Functions:
        body = {**body, "tools": tools.json}
    messages = body.get("messages")
    if not isinstance(messages, Messages):
        return encode(body)
    names = list(body)
    place = names.index("messages")
    before, behind = (
        encode({name: body[name] for name in part}) for part in (names[:place], names[place + 1 :])
    )
    start = before[:-1] + (b',"messages":' if place else b'"messages":')
    return messages.encoded(start, b"," + behind[1:] if len(behind) > 2 else b"}", encode)


def is_quick(body: dict[str, Any]) -> bool:
    """Return whether most of a large request is JSON already, so that `encode_body` takes a few
    milliseconds.
    """
    messages = body.get("messages")
    tools = body.get("tools")
    if not isinstance(messages, Messages) or not (tools is None or type(tools) is Functions):
        return False
    others = {name: value for name, value in body.items() if name not in ("messages", "tools")}
    return messages.is_mostly_known and weight([others, messages.unknown]) < LONG


def _encode_in_pieces(value: Any) -> bytes:
    return b"".join(pieces(value, _encode))
