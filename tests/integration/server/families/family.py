"""What a family of backends refuses or writes differently, and what must come of it: the fields of
the table.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from tests.support.refusing import Refusal, Request
from tests.support.replay import JSON, STREAM, Answer, delta, sse

WAYS = ("alone", "unstored", "chain", "replay", "bare", "conversation", "failover")
"""`alone` is one request; the next ones are followed by another turn, which has the first in front
of it.

`unstored` replays what was not stored, `bare` the calls alone, without reasoning and the ids of
items; before `failover` another backend refuses to serve.
"""

Play = Callable[[Request], Answer]
Values = Mapping[str, Any]
"""Values by their path, such as `messages.0.role`; a value can be a `Like`."""


class Like:
    """Equal to whatever a test of it accepts."""

    def __init__(self, accepts: Callable[[Any], object], states: str) -> None:
        self._accepts = accepts
        self._states = states

    def __eq__(self, other: object) -> bool:
        return bool(self._accepts(other))

    def __hash__(self) -> int:
        return hash(self._states)

    def __repr__(self) -> str:
        return f"<{self._states}>"


ABSENT = Like(lambda value: value is ..., "absent")
NINE = Like(lambda value: len(value) == 9 and value.isalnum(), "nine letters and digits")
SHORT = Like(lambda value: 0 < len(value) <= 64, "an id that clients can keep")


def has(*words: str) -> Like:
    return Like(
        lambda value: isinstance(value, str) and all(word in value for word in words),
        f"has {words}",
    )


def the_object(value: Any) -> Like:
    return Like(lambda written: json.loads(written) == value, f"the JSON of {value}")


# What models answer.


def answered(sent: Request, content: str | None, finish: str = "stop", **message: Any) -> Answer:
    """An answer as the request asks for it, streamed or plain."""
    usage = {"prompt_tokens": 5, "completion_tokens": 3, "total_tokens": 8}
    if sent.get("stream"):
        calls = [
            {"index": index, **call} for index, call in enumerate(message.get("tool_calls") or ())
        ]
        deltas = [delta(**{name: value}) for name, value in message.items() if name != "tool_calls"]
        deltas += [delta(content=content)] * bool(content) + [
            delta(tool_calls=[call]) for call in calls
        ]
        return Answer([sse(*deltas, delta(finish), {"choices": [], "usage": usage})])
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": content, **message},
        "finish_reason": finish,
    }
    return Answer(
        [json.dumps({"object": "chat.completion", "choices": [choice], "usage": usage}).encode()],
        JSON,
    )


def states(content: str, **message: Any) -> Play:
    return lambda sent: answered(sent, content, **message)


hello = states("Hello")


def calls(
    name: str, arguments: str, id: str = "call_1", finish: str = "tool_calls", **more: Any
) -> Play:
    """A model that makes a call, and says hello once it has a result."""
    call = {
        "id": id,
        "type": "function",
        "function": {"name": name, "arguments": arguments},
        **more,
    }

    def play(sent: Request) -> Answer:
        if sent["messages"][-1]["role"] == "tool":
            return hello(sent)
        return answered(sent, None, finish, tool_calls=[call])

    return play


def framed(streamed: bytes, plain: bytes, label: str | None = None) -> Play:
    """An answer in these bytes under another label, or under its own."""
    return lambda sent: (
        Answer([streamed], label or STREAM)
        if sent.get("stream")
        else Answer([plain], label or JSON)
    )


def uses(usage: Request, **more: Any) -> Play:
    """An answer with this usage; the chunks in `more` follow."""
    chunk = {"choices": [], "usage": usage}
    whole = {
        "choices": [{"index": 0, "message": {"content": "Hello"}, "finish_reason": "stop"}],
        "usage": usage,
    }
    return framed(
        sse(delta(content="Hello"), delta("stop"), chunk, *more.values()),
        json.dumps(whole).encode(),
    )


def written(body: Any, status: int = 400) -> Play:
    return lambda _: Answer([json.dumps(body).encode()], JSON, status)


# What clients send.

OBJECT = {"type": "object", "properties": {}}
PING = {"type": "function", "name": "ping", "parameters": OBJECT}
WEATHER = {
    "type": "function",
    "name": "get_weather",
    "parameters": {
        "type": "object",
        "properties": {"city": {"type": "string", "enum": ["Paris", "Rome"]}},
        "required": ["city"],
        "additionalProperties": False,
    },
}
PARIS = '{"city": "Paris"}'


STATED = {"status": "completed", "output.-1.content.0.text": "Hello"}


class Family(NamedTuple):
    """A way of backends, and what must come of it."""

    at: Mapping[str, str]
    """The ways of each dialect, separated by blanks."""
    requested: Request = {}  # noqa: RUF012 - a named tuple's default
    """What the client sends."""
    refuses: Callable[[str], Refusal | None] = lambda dialect: None
    plays: Play = hello
    sent: Values = {}  # noqa: RUF012 - a named tuple's default
    """The request that the backend answers: parts of it, in every turn."""
    sent_at: Mapping[str, Values] = {}
    """More parts of it, by dialect."""
    later: Values = {}  # noqa: RUF012 - a named tuple's default
    """More parts of it, in the second turn."""
    answer: Values = STATED
    """Parts of the first answer."""
    stored: Values = {}  # noqa: RUF012 - a named tuple's default
    """Parts of what is listed as the input of the first answer."""
    guards: tuple[str, ...] = ()
    """The rows that are guards: the beginning of `dialect-way`, or a mode."""
    model: str = "m"
    """How the name of its model begins."""
    status: int = 200


def refusing(
    is_met: Callable[[Request], bool], words: str, status: int = 400
) -> Callable[[str], Refusal]:
    return lambda dialect: Refusal(is_met, words, status)
