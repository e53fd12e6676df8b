"""The scenarios: what an agent sends in each, and what it has sent before."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import msgspec

from bench.agents import tools
from bench.agents.history import LARGE_OUTPUT, MARK, OUTPUT, Item, history, opening, turn
from bench.agents.texts import picture, prose

MB = 1_000_000

LATER, LONG = 60, 400
"""Items of a later turn of Codex, and of a long conversation."""

Body = dict[str, Any]

PREVIOUS = f"resp_{MARK}"
"""Stands for the id of the stored response that a body follows."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """One kind of request.

    `body` is what is measured, without `model`, `stream` and `store`. `before` is what its client
    has sent in the same conversation just before, and is not measured: empty for the first request
    of a conversation. Where the body has a `previous_response_id`, that is the response to
    `before`, which is stored.
    """

    body: Body
    before: Body = field(default_factory=dict)

    @property
    def is_chained(self) -> bool:
        """Return whether the history is on the server."""
        return "previous_response_id" in self.body


def hello(offered: Sequence[tools.Tool] = ()) -> Scenario:
    """Return a request of two words that offers these tools."""
    return Scenario({"input": "Hello!", **({"tools": [*offered]} if offered else {})})


def additional(count: int) -> Scenario:
    """Return the same with so many tools inside the input, where their number has no limit."""
    items = [
        {
            "type": "additional_tools",
            "id": f"at_{MARK}",
            "role": "developer",
            "tools": tools.functions(count),
        }
    ]
    return Scenario({"input": [*items, {"role": "user", "content": "Hello!"}]})


def conversation(items: int, output: int = OUTPUT) -> Scenario:
    """Return a request of Codex with so many items that the server has never seen."""
    return Scenario(_codex([*history(items - 2, output), *turn(0, output)]))


def later(items: int, output: int = OUTPUT) -> Scenario:
    """Return a request of Codex with so many items; all but the last two were in the request
    before.
    """
    before = conversation(items - 2, output).body
    return Scenario({**before, "input": [*before["input"], *turn(1, output)]}, before)


def image(size: int) -> Scenario:
    """Return a request with an image that is so many bytes long in base64."""
    parts = [
        {"type": "input_text", "text": f"{MARK}: what is this?"},
        {"type": "input_image", "image_url": picture(size), "detail": "auto"},
    ]
    return Scenario({"input": [{"role": "user", "content": parts}]})


def chained() -> Scenario:
    """Return the later turn whose history is stored: only the two new items are sent."""
    whole = later(LATER)
    return Scenario(
        {**whole.body, "input": turn(1), "previous_response_id": PREVIOUS}, whole.before
    )


def first() -> Scenario:
    """Return the first request of Codex: 39 kB."""
    return Scenario(_codex(opening()))


SCENARIOS: dict[str, Callable[[], Scenario]] = {
    "no tool": hello,
    "one tool": partial(hello, tools.functions(1)),
    "100 tools": partial(hello, tools.functions(100)),
    "codex": first,
    "codex, later turn": partial(later, LATER),
    "long": partial(conversation, LONG, LARGE_OUTPUT),
    "long, later turn": partial(later, LONG + 2, LARGE_OUTPUT),
    "image": partial(image, 5 * MB),
    "chained": chained,
}
"""By name. `codex` and what follows it have the sizes, kinds and fields that were recorded of Codex
0.169.
"""

STORED = ("codex", "codex, later turn", "long")
"""Those that are sent with `store` too. Codex never stores, but other clients do; a chain always
does.
"""


@dataclass(frozen=True, slots=True)
class Way:
    """How a scenario is sent."""

    scenario: str
    stream: bool
    store: bool

    @property
    def name(self) -> str:
        """What it is called in budgets and figures."""
        stored = ", stored" if self.store and self.scenario in STORED else ""
        return f"{self.scenario}, {'streamed' if self.stream else 'plain'}{stored}"


def ways() -> Iterator[Way]:
    """Return how each scenario is sent: plain, streamed, and some of them streamed and stored."""
    for name in SCENARIOS:
        for stream in (False, True):
            yield Way(name, stream, store=name == "chained")
        if name in STORED:
            yield Way(name, stream=True, store=True)


LARGEST: dict[str, Callable[[], Scenario]] = {
    "a history of 20 MB": partial(conversation, 8_300, LARGE_OUTPUT),
    "an image of 20 MB": partial(image, 20 * MB),
}
"""Bodies of which one alone must not hold the server's loop."""


def encoded(body: Body, *, model: str, stream: bool, store: bool) -> bytes:
    """Return a body as JSON. `MARK` is still in it, once or more in each item."""
    return msgspec.json.encode({"model": model, **body, "stream": stream, "store": store})


def of_conversation(content: bytes, number: int, previous: str = "") -> bytes:
    """Return the body of the conversation with this number.

    `previous` is the id of the response that it follows.
    """
    if previous:
        content = content.replace(PREVIOUS.encode(), previous.encode())
    return content.replace(MARK.encode(), b"%08x" % number)


def chat(size: int, *, model: str, stream: bool) -> bytes:
    """Return a request to `/v1/chat/completions` of so many bytes, for a proxy that translates
    nothing.
    """
    body = {"model": model, "messages": [{"role": "user", "content": ""}], "stream": stream}
    content = msgspec.json.encode(body)
    text = prose(max(0, size - len(content))).translate(_PLAIN)
    return content.replace(b'"content":""', b'"content":"%b"' % text.encode())


_PLAIN = {ord("\n"): " ", ord("—"): "-", ord("…"): "."}
"""What would be longer in JSON than in the text."""


def _codex(items: list[Item]) -> Body:
    """Return the fields of Codex around its input: ten tools, and what it tells about the turn."""
    return {
        "input": items,
        "tools": tools.codex(),
        "tool_choice": "auto",
        "parallel_tool_calls": True,
        "reasoning": {"effort": "medium"},
        "include": ["reasoning.encrypted_content"],
        "prompt_cache_key": f"{MARK}-0000-7000-8000-000000000000",
        "text": {"verbosity": "low"},
        "client_metadata": {
            "x-codex-turn-metadata": msgspec.json.encode(
                {"turn": MARK, "workspace": prose(700)}
            ).decode(),
            **dict.fromkeys(
                ("turn_id", "thread_id", "session_id"), f"{MARK}-0000-7000-8000-000000000001"
            ),
        },
    }
