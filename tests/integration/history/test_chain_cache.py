"""What is remembered of a chain shows in the work alone: bodies, answers and errors are those of a
full reading.
"""

import asyncio
import gc
import json
import sys
import tracemalloc
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from dataclasses import replace as replace_fields
from types import FrameType
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from msgspec.structs import replace

from antiphon.access.keyring import Keyring
from antiphon.errors import ClientError
from antiphon.gateway import Gateway
from antiphon.history.chain_cache import ChainCache
from antiphon.protocol.items.messages import Message
from antiphon.protocol.validation.validate import decode_request
from antiphon.storage.operations import conversations
from antiphon.storage.operations import responses as stored_responses
from antiphon.storage.postgres.store import PostgresStore
from antiphon.storage.records.responses import StoredConversation, StoredItem, StoredResponse
from antiphon.storage.sqlite.store import SqliteStore
from antiphon.storage.store import Store
from antiphon.translation.dialects.table import DIALECTS
from antiphon.translation.to_chat_completions.messages import to_messages
from antiphon.translation.to_chat_completions.prefix import Messages, ModelConversation, Prefix
from antiphon.upstream.backend import Reply
from antiphon.upstream.registry import ModelRegistry
from antiphon.upstream.scripted import ScriptedBackend
from tests.support.chance import examples
from tests.support.parts import NOW, foundation, parts_with, stated
from tests.support.postgres import Postgres
from tests.support.replay import delta, sse

RETENTION = 1000

TOOLS: Sequence[Sequence[dict[str, Any]]] = (
    [{"type": "function", "name": "look"}],
    [{"type": "function", "name": "look"}, {"type": "custom", "name": "write"}],
    [
        {
            "type": "namespace",
            "name": "sky",
            "description": "",
            "tools": [{"type": "function", "name": "look"}],
        }
    ],
    [],
)

CALL = {
    "index": 0,
    "id": "call_x",
    "type": "function",
    "function": {"name": "look", "arguments": '{"at": 1}'},
}

ANSWERS = {
    "text": stated("Hello ", "there"),
    "thought": [delta(reasoning_content="Hm."), delta(content="Yes"), delta("stop")],
    "call": [delta(tool_calls=[CALL]), delta("tool_calls")],
    "thought and call": [
        delta(reasoning_content="Look!"),
        delta(tool_calls=[CALL]),
        delta("tool_calls"),
    ],
    "nothing": [delta("length")],
}

IMAGE = {"type": "input_image", "image_url": "data:image/png;base64,AAAA"}
PAIR = [
    {"type": "function_call", "call_id": "call_p", "name": "look", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "call_p", "output": "a star"},
]

INPUTS: dict[str, Any] = {
    "text": "and now?",
    "image": [{"role": "user", "content": [{"type": "input_text", "text": "see"}, IMAGE]}],
    "two messages": [{"role": "user", "content": "one"}, {"role": "user", "content": "two"}],
    "developer": [
        {"role": "developer", "content": "be brief"},
        {"role": "user", "content": "go on"},
    ],
    "assistant first": [
        {"role": "assistant", "content": "I said"},
        {"role": "user", "content": "go on"},
    ],
    "nothing": [],
    "wait": "wait",
    "forgotten": "never mind",
    "pair": PAIR,
    "late pair": [PAIR[0], {"role": "user", "content": "wait"}, PAIR[1]],
    "output of nothing": [PAIR[1]],
    "asynchronous call": [{**PAIR[0], "async": True}, {"role": "user", "content": "meanwhile"}],
    "compaction": [
        {"type": "compaction", "encrypted_content": "?"},
        {"role": "user", "content": "go on"},
    ],
    "settings": [
        {"type": "configuration_update", "reasoning": {"effort": "low"}},
        {"role": "user", "content": "x"},
    ],
    "more tools": [
        {"type": "additional_tools", "role": "developer", "tools": list(TOOLS[1])},
        *PAIR,
    ],
    "search": [
        {
            "type": "web_search_call",
            "id": "ws_1",
            "status": "completed",
            "action": {"type": "search"},
        }
    ],
}


class FullReading(ChainCache):
    """Remembers nothing, and says nothing of what it read: all of it is checked and translated."""

    async def prefix(self, store: Store, response: StoredResponse, *how: Any) -> Prefix | None:
        found = await ChainCache().prefix(store, response, *how)
        return found and replace_fields(found, is_sound=False, is_apart=False)


LATE = ("wait", "developer")
"""Inputs before which the outputs of calls do not stand, but behind them."""

REPLAYING = [
    name for name, dialect in DIALECTS.items() if dialect.replay != "never" or dialect.alternating
]


@dataclass
class Clock:
    """A clock that is set."""

    now: int = NOW

    def __call__(self) -> int:
        return self.now


@dataclass
class World:
    """Parts with a store and a model of its own, whose ids count."""

    clock: Clock
    store: Store
    chains: ChainCache
    dialect: str = "generic"
    requested: list[bytes] = field(default_factory=list)
    """Each body that the backend was sent."""
    answer: str = "text"
    responses: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        backend = ScriptedBackend(lambda _: sse(*ANSWERS[self.answer]), models=["m"])
        self._post = backend.post  # type: ignore[method-assign]
        backend.post = self._noted  # type: ignore[method-assign]
        base = foundation(
            ModelRegistry([backend], self.clock, {backend.name: self.dialect}), self.store
        )
        base.now, base.keyring = (
            self.clock,
            Keyring([bytes(32)]),
        )  # all worlds mark system messages alike
        self.parts = parts_with(base)
        self.parts.run.history.chains = self.chains
        self.parts.run.rules.retention = RETENTION

    async def _noted(self, path: str, body: bytes) -> Reply:
        self.requested.append(body)
        return await self._post(path, body)

    async def turn(self, body: dict[str, Any]) -> Any:
        """Return the response that comes of a request, or the error."""
        try:
            run = await Gateway(self.parts).create(
                decode_request(msgspec.json.encode({"model": "m", **body}))
            )
            response = await run.result()
        except ClientError as error:
            return error.status, error.body()
        if response.status in ("completed", "incomplete"):
            self.responses.append(response.id)
        return msgspec.json.encode(response)


turns = st.tuples(
    st.just("turn"),
    st.sampled_from([-1] * 6 + [0, 1, 2, 5]),  # mostly the newest is followed
    st.sampled_from(["text"] * 9 + ["nothing"] * 4 + ["wait"] * 3 + list(INPUTS)),
    st.sampled_from(["call", *ANSWERS]),
    st.sampled_from([0] * 8 + [1, 2, 3]),
    st.sampled_from([None, None, "Be kind."]),
    st.sampled_from([None, "current_turn"]),
    st.sampled_from(["chain"] * 19 + ["conversation"]),
)
scripts = st.lists(
    st.one_of(
        *[turns] * 30,
        st.tuples(st.just("delete"), st.integers(0, 20)),
        st.tuples(st.just("later"), st.sampled_from([10, 600])),
    ),
    min_size=6,
    max_size=16,
)


async def play(script: Sequence[tuple[Any, ...]], worlds: Sequence[World]) -> None:
    """Have the same said in all worlds; what comes of it must be the same, byte for byte."""
    for world in worlds:
        await world.store.write(conversations.create, CONVERSATION, [])
    waiting: dict[str, list[str]] = {}
    for number, (kind, *rest) in enumerate(script):
        known = worlds[0].responses
        if kind == "later":
            for world in worlds:
                world.clock.now += rest[0]
        elif kind == "delete" and known:
            assert (
                len(
                    {
                        await world.store.write(
                            stored_responses.delete, "", known[rest[0] % len(known)]
                        )
                        for world in worlds
                    }
                )
                == 1
            )
        elif kind == "turn":
            body = _body(rest, known, waiting, number)
            answers = []
            for world in worlds:
                world.answer = rest[2]
                answers.append(await world.turn(body))
            assert all(answer == answers[0] for answer in answers)
            assert all(world.requested == worlds[0].requested for world in worlds)
            if (
                not isinstance(answers[0], bytes)
                and answers[0][1]["code"] == "previous_response_not_found"
            ):
                for world in worlds:
                    world.responses.remove(body["previous_response_id"])
            if isinstance(answers[0], bytes):
                created = json.loads(answers[0])
                waiting[created["id"]] = [
                    one["call_id"] for one in created["output"] if one["type"] == "function_call"
                ]


def _body(
    choice: Sequence[Any], known: Sequence[str], waiting: dict[str, list[str]], number: int
) -> dict[str, Any]:
    """Return a request; the outputs that the followed response waits for come with it, nearly
    always.
    """
    parent, stated_as, _, tools, instructions, context, where = choice
    body: dict[str, Any] = {"tools": TOOLS[tools]}
    if instructions:
        body["instructions"] = instructions
    if context:
        body["reasoning"] = {"context": context}
    if where == "conversation":
        return body | {"conversation": "conv_1", "input": "in the conversation"}
    if known:
        body["previous_response_id"] = known[-1] if parent < 0 else known[parent % len(known)]
    calls = waiting.get(body.get("previous_response_id", ""), [])
    outputs = [
        {"type": "function_call_output", "call_id": call_id, "output": "seen"} for call_id in calls
    ]
    new = json.loads(json.dumps(INPUTS[stated_as]).replace("call_p", f"call_{number}"))
    items = [{"role": "user", "content": new}] if isinstance(new, str) else new
    body["input"] = (
        [*items, *outputs]
        if stated_as in LATE
        else [*outputs, *items]
        if stated_as != "forgotten"
        else items
    )
    return body if body["input"] or known else body | {"input": "Hi"}


CONVERSATION = StoredConversation("conv_1", NOW, b"{}")


WHATEVER_IT_COSTS = {"suppress_health_check": list(HealthCheck)}


@pytest.mark.wide
@examples(150, **WHATEVER_IT_COSTS)
@given(
    scripts,
    st.sampled_from([*REPLAYING, *REPLAYING, *DIALECTS]),
    st.sampled_from([0, 20_000, 2**26]),
)
def test_a_remembered_chain_is_the_chain(script: list[Any], dialect: str, room: int) -> None:
    async def compare() -> None:
        clocks = Clock(), Clock()
        stores = [SqliteStore.open("sqlite://", now=clock) for clock in clocks]
        chains = FullReading(), ChainCache(room)
        await play(
            script, [World(*parts, dialect) for parts in zip(clocks, stores, chains, strict=True)]
        )
        await asyncio.gather(*(store.close() for store in stores))

    asyncio.run(compare())


LONG: Sequence[tuple[Any, ...]] = [
    ("turn", -1, stated_as, answer, tools, "Be kind.", context, "chain")
    for tools in (0, 1, 2, 0)
    for stated_as, answer, context in (
        ("text", "thought", None),
        ("text", "thought and call", None),
        ("nothing", "thought", None),
        ("two messages", "nothing", None),
        ("text", "thought", None),
        ("pair", "thought and call", None),
        ("nothing", "text", "current_turn"),
        ("text", "thought and call", "current_turn"),
        ("image", "thought", "current_turn"),
        ("text", "thought", "current_turn"),
    )
] + [
    ("turn", -1, "text", "call", 0, None, None, "chain"),
    *[("turn", -1, "wait", "call", 0, None, None, "chain")] * 3,
]


@pytest.mark.wide
@pytest.mark.parametrize(
    "dialect", [name for name in [*REPLAYING, "generic"] if "tools" in DIALECTS[name].accepts]
)
async def test_a_long_remembered_chain_is_the_chain(dialect: str) -> None:
    clocks = Clock(), Clock()
    stores = [SqliteStore.open("sqlite://", now=clock) for clock in clocks]
    worlds = [
        World(*parts, dialect)
        for parts in zip(clocks, stores, (FullReading(), ChainCache()), strict=True)
    ]
    await play(LONG, worlds)
    assert len(worlds[0].responses) == len(LONG)
    await asyncio.gather(*(store.close() for store in stores))


@pytest.mark.wide
@examples(20, **WHATEVER_IT_COSTS)
@given(scripts)
def test_it_is_so_on_postgres(postgres: Postgres, script: list[Any]) -> None:
    async def compare() -> None:
        clocks = Clock(), Clock()
        async with postgres.store() as url:
            stores: list[Store] = [
                SqliteStore.open("sqlite://", now=clocks[0]),
                await PostgresStore.open(url, connections=1, now=clocks[1]),
            ]
            chains = FullReading(), ChainCache()
            await play(
                script, [World(*parts) for parts in zip(clocks, stores, chains, strict=True)]
            )
            await asyncio.gather(*(store.close() for store in stores))

    asyncio.run(compare())


def _stored(number: int, text: str = "") -> StoredResponse:
    """A turn of a long chain."""
    question_text = f"question {number}{text}"
    answer_text = f"answer {number}{text}"
    question = {
        "type": "message",
        "role": "user",
        "content": [{"type": "input_text", "text": question_text}],
    }
    answer = {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "output_text", "text": answer_text}],
    }
    return StoredResponse(
        id=f"resp_{number}",
        created_at=NOW,
        status="completed",
        previous_response_id=f"resp_{number - 1}" if number > 1 else None,
        body=b"{}",
        input=[StoredItem(f"msg_{number}_in", msgspec.json.encode(question))],
        output=[StoredItem(f"msg_{number}_out", msgspec.json.encode(answer))],
    )


async def _calls_of_a_turn(world: World, after: int) -> int:
    """Return how many Python functions of this package the second turn that follows a chain of this
    length calls.
    """
    first = json.loads(await world.turn({"input": "Hi", "previous_response_id": f"resp_{after}"}))
    body = {"input": "Hi", "previous_response_id": first["id"]}
    calls: Counter[str] = Counter()

    def count(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and "antiphon" in frame.f_code.co_filename:
            calls[frame.f_code.co_qualname] += 1

    sys.setprofile(count)
    try:
        await world.turn(body)
    finally:
        sys.setprofile(None)
    return calls.total()


@pytest.mark.wide("postgres")
@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
async def test_turn_1000_costs_at_most_three_times_turn_10(
    kind: str, request: pytest.FixtureRequest
) -> None:
    clock = Clock()
    store: Store = SqliteStore.open("sqlite://", now=clock)
    if kind == "postgres":
        server: Postgres = request.getfixturevalue("postgres")
        store = await PostgresStore.open(await server.database(), connections=2, now=clock)
    world = World(clock, store, ChainCache())
    await asyncio.gather(*(store.save(_stored(number)) for number in range(1, 999)))
    short, long = [await _calls_of_a_turn(world, after) for after in (8, 998)]
    assert len(json.loads(world.requested[-1])["messages"]) == 2 * 999 + 1
    assert long <= 3 * short
    await store.close()


async def test_what_is_remembered_is_bounded() -> None:
    store = SqliteStore.open("sqlite://", now=lambda: NOW)
    for number in range(1, 101):
        await store.save(_stored(number))
        await store.save(replace(_stored(number), id=f"other_{number}", previous_response_id=None))
    chains = ChainCache(most_bytes=100_000, most_entries=50)
    for name in [f"{kind}_{number}" for number in range(1, 101) for kind in ("resp", "other")]:
        response = await store.read(stored_responses.load, "", name)
        assert response is not None
        prefix = await chains.prefix(store, response)
        assert prefix is not None
        assert len(prefix.items) == 2 * (1 if name.startswith("other") else int(name[5:]))
        assert chains.size <= 100_000
        assert len(chains) <= 50
    await store.close()


@pytest.mark.wide
@pytest.mark.parametrize(
    "text", ["hello", "a b" * 3000, "a b" * 3000 + "😀", "яы" * 3000, "漢字" * 3000]
)
async def test_as_many_bytes_are_counted_as_are_taken(text: str) -> None:
    store = SqliteStore.open("sqlite://", now=lambda: NOW)
    chains = ChainCache(2**30)
    dialect = DIALECTS["generic"]
    for number in range(1, 14):
        await store.save(_stored(number, text))
    gc.collect()
    tracemalloc.start()
    for number in range(1, 14):
        response = await store.read(stored_responses.load, "", f"resp_{number}")
        assert response is not None
        prefix = await chains.prefix(store, response)
        assert prefix is not None
        conversation = ModelConversation([*prefix.items, Message(role="user", content="x")], prefix)
        for context in (None, "current_turn"):
            messages = to_messages(conversation, None, dialect, context, history=prefix.length)
            assert isinstance(messages, Messages)
    del response, prefix, conversation, messages
    gc.collect()
    taken, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert taken <= chains.size
    assert len(chains) == 13
    await store.close()


async def test_a_chain_that_is_followed_twice_is_two_chains() -> None:
    store = SqliteStore.open("sqlite://", now=lambda: NOW)
    world = World(Clock(), store, ChainCache())
    first = json.loads(await world.turn({"input": "a"}))["id"]
    second = json.loads(await world.turn({"input": "b", "previous_response_id": first}))["id"]
    for follows, expected in ((second, "a b x"), (first, "a x"), (second, "a b x"), (first, "a x")):
        await world.turn({"input": "x", "previous_response_id": follows})
        stated_before = [
            one["content"]
            for one in json.loads(world.requested[-1])["messages"]
            if one["role"] == "user"
        ]
        assert stated_before == expected.split()
    await store.close()
