"""A backend's bytes into events, with ids that count and a clock that stands: the same in, the same
out.
"""

import itertools
import json
import random
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import msgspec

from antiphon.protocol.response import Response
from antiphon.protocol.tool_bindings import Offer
from antiphon.translation.from_chat.reader import ChatStream
from antiphon.translation.wire import AnswerReader, Finish, conclude
from antiphon.translation.writer import ResponseWriter, View

CREATED_AT = 1_700_000_000
COMPLETED_AT = 1_700_000_007


@dataclass
class Translation:
    """What came of one backend answer: the events as plain JSON, how it ended, and who made it."""

    writer: ResponseWriter
    chat: ChatStream
    events: list[dict[str, Any]] = field(default_factory=list)
    ending: Finish | None = None

    @property
    def response(self) -> dict[str, Any]:
        """The response of the terminal event."""
        return self.events[-1]["response"]

    @property
    def output(self) -> list[dict[str, Any]]:
        """Its items."""
        return self.response["output"]

    @property
    def kinds(self) -> list[str]:
        """The types of its items."""
        return [item["type"] for item in self.output]

    @property
    def text(self) -> str:
        """The text of all its messages."""
        return "".join(
            part["text"] for part in self._content("message") if part["type"] == "output_text"
        )

    @property
    def refusal(self) -> str:
        """What it refuses to say, and how."""
        return "".join(
            part["refusal"] for part in self._content("message") if part["type"] == "refusal"
        )

    @property
    def reasoning(self) -> str:
        """The raw reasoning of all its items, or their summary."""
        return "".join(
            part["text"]
            for part in [*self._content("reasoning"), *self._content("reasoning", "summary")]
        )

    @property
    def tokens(self) -> list[str]:
        """The tokens that have log probabilities."""
        parts = self._content("message")
        return [entry["token"] for part in parts for entry in part.get("logprobs", [])]

    @property
    def calls(self) -> list[tuple[str, str]]:
        """Name and arguments of its calls."""
        return [(item["name"], item["arguments"]) for item in self._items("function_call")]

    @property
    def sealed(self) -> list[dict[str, Any]]:
        """What was sealed with each reasoning item that had anything to seal."""
        return [json.loads(blob) for blob in self.writer.sealed.values()]

    def _items(self, kind: str) -> list[dict[str, Any]]:
        return [item for item in self.output if item["type"] == kind]

    def _content(self, kind: str, key: str = "content") -> list[dict[str, Any]]:
        return [part for item in self._items(kind) for part in item[key]]


def begin(view: View | None = None, *, names: Collection[str] = (), **options: Any) -> Translation:
    """Start a response whose ids are `msg_1`, `fc_2` and so on; `options` are those of
    `ChatStream`.

    `names` are functions that are offered, and nothing else.
    """
    if names:
        options["offers"] = {name: Offer(name, name=name) for name in names}
    writer = begin_writer(view)
    return Translation(writer, ChatStream(writer, **options))


def begin_writer(view: View | None = None) -> ResponseWriter:
    """Start a response whose ids count."""
    numbers = itertools.count(1)
    writer = ResponseWriter(
        Response(id="resp_0", created_at=CREATED_AT, model="test"),
        new_id=lambda prefix: f"{prefix}_{next(numbers)}",
        now=lambda: COMPLETED_AT,
        seal=lambda state: msgspec.json.encode(state).decode(),
        view=view or View(),
    )
    writer.start()
    return writer


def end(translation: Translation, ending: Finish) -> Translation:
    """Tell how the answer ended, as a run does."""
    translation.ending = ending
    translation.events += end_writer(translation.writer, ending)
    return translation


def end_writer(writer: ResponseWriter, ending: Finish) -> list[dict[str, Any]]:
    """Tell how an answer ended, as a run does; return the events that were not taken yet."""
    conclude(writer, ending)
    writer.end()
    events: list[dict[str, Any]] = json.loads(msgspec.json.encode(writer.take()))
    return events


def translate(
    parts: bytes | Iterable[bytes], *, is_json: bool = False, **options: Any
) -> Translation:
    """Translate the bytes of one backend answer, in one read or in several."""
    translation = begin(**options)
    reader = AnswerReader(translation.chat, is_json)
    for part in [parts] if isinstance(parts, bytes) else parts:
        reader.feed(part)
        if reader.is_over:
            break
    return end(translation, reader.finish())


def translate_plain(answer: dict[str, Any], **options: Any) -> Translation:
    """Translate a plain answer."""
    return translate(json.dumps(answer).encode(), is_json=True, **options)


Cut = Callable[[bytes], Iterator[bytes]]


def whole(data: bytes) -> Iterator[bytes]:
    """One read."""
    yield data


def bytewise(data: bytes) -> Iterator[bytes]:
    """One byte at a time."""
    return (data[i : i + 1] for i in range(len(data)))


def at(*places: int) -> Cut:
    """Reads that end at these places."""

    def cut(data: bytes) -> Iterator[bytes]:
        bounds = [0, *sorted(places), len(data)]
        return (data[start:stop] for start, stop in itertools.pairwise(bounds))

    return cut


def at_random(seed: object, count: int = 40) -> Cut:
    """Reads that end anywhere, the same for the same seed."""

    def cut(data: bytes) -> Iterator[bytes]:
        dice = random.Random(str(seed))
        return at(*(dice.randrange(len(data) + 1) for _ in range(count)))(data)

    return cut
