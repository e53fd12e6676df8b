"""Lanes of a socket: order in a lane, freedom between them, and how many there may be (specification section 8)."""

import asyncio

import pytest

from antiphon.errors import ClientError
from antiphon.server.websocket import lanes
from tests.support.replay import Answer, ReplayBackend, delta, sse, text
from tests.support.server import Served
from tests.support.socket import talk, text_of


class Held:
    """A model that says how the request begins and then waits to be let go."""

    def __init__(self, backend: ReplayBackend) -> None:
        self.backend = backend
        self.gates: dict[str, asyncio.Event] = {}
        backend.script = self

    def __call__(self, request: dict) -> Answer:
        said = request["messages"][-1]["content"]
        gate = self.gates.setdefault(said, asyncio.Event())
        return Answer([sse(delta(content="A"), done=False)], wait=gate, rest=[text("Z")])

    def let(self, said: str) -> None:
        self.gates.setdefault(said, asyncio.Event()).set()


async def test_the_events_of_a_lane_have_its_name(served: Served):
    async with talk(served) as one:
        events = await one.create(stream_id="lane-1")
    assert {event["stream_id"] for event in events} == {"lane-1"}


@pytest.mark.parametrize("name", ["", "no lane", "a/b", "é", "a" * 257, "a\n", 7, ["a"]])
async def test_a_lane_that_cannot_be_is_refused(served: Served, name):
    async with talk(served) as one:
        error = await one.refusal(stream_id=name)
    assert (error["code"], error["param"]) == ("invalid_stream_id", "stream_id")
    assert error["message"].startswith("The 'stream_id' field ")


async def test_in_a_lane_one_response_ends_before_the_next_begins(served: Served, backend: ReplayBackend):
    held = Held(backend)
    async with talk(served) as one:
        for said in ("One", "Two"):
            await one.ask(said)
        heard = await one.until("response.output_text.delta")
        held.let("One")
        heard += await one.until("response.completed")
        held.let("Two")
        heard += await one.until("response.completed")

    turns = [event["type"] for event in heard if event["type"] in {"response.created", "response.completed"}]
    assert turns == ["response.created", "response.completed"] * 2


async def test_another_lane_goes_on_beside_it(served: Served, backend: ReplayBackend):
    held = Held(backend)
    held.let("Two")
    async with talk(served) as one:
        await one.ask("One", stream_id="a")
        await one.until("response.output_text.delta")
        await one.ask("Two", stream_id="b")
        await one.until("response.completed", stream_id="b")
        held.let("One")
        await one.until("response.completed", stream_id="a")


async def test_the_17th_response_in_flight_waits_for_one_to_end(served: Served, backend: ReplayBackend):
    held = Held(backend)
    async with talk(served) as one:
        for number in range(17):
            await one.ask(f"Say {number}", stream_id=f"lane-{number}")
        begun: set[str] = set()
        while len(begun) < lanes.IN_FLIGHT:
            begun |= {event["stream_id"] for event in await one.until("response.output_text.delta")}
        assert "lane-16" not in begun
        held.let("Say 3")
        heard = await one.until("response.created", stream_id="lane-16")
        assert "response.completed" in [event["type"] for event in heard if event["stream_id"] == "lane-3"]


async def test_a_33rd_name_is_refused_and_the_nameless_lane_is_not_counted(served: Served):
    async with talk(served) as one:
        await one.made()
        for number in range(lanes.NAMES):
            await one.made(stream_id=f"lane-{number}")
        error = await one.refusal(stream_id="lane-32")
        again = await one.made(stream_id="lane-0")
        nameless = await one.made()

    assert error["code"] == "websocket_stream_limit_reached"
    assert "(32)" in error["message"]
    assert (again["status"], nameless["status"]) == ("completed", "completed")


@pytest.mark.wide
async def test_more_than_can_wait_is_refused_and_what_waits_is_answered(served: Served, backend: ReplayBackend):
    held = Held(backend)
    async with talk(served) as one:
        await one.ask("First")
        await one.until("response.output_text.delta")
        for _ in range(lanes.WAITING + 1):
            await one.ask("Next")
        heard = await one.until("error")
        held.let("First")
        held.let("Next")
        answered = [await one.until("response.completed") for _ in range(lanes.WAITING + 1)]

    assert (heard[-1]["status"], heard[-1]["error"]["code"]) == (429, "too_many_requests")
    assert text_of(answered[-1][-1]["response"]) == "AZ"


async def test_an_error_in_a_lane_waits_for_its_turn(served: Served, backend: ReplayBackend):
    held = Held(backend)
    async with talk(served) as one:
        await one.ask("One")
        await one.until("response.output_text.delta")
        await one.ask(7)
        held.let("One")
        heard = await one.until("error")
    assert "response.completed" in [event["type"] for event in heard]


def asked(lane: str | None) -> lanes.Asked:
    return lanes.Asked(lane, b"{}", {})


def test_the_oldest_request_that_can_begin_begins() -> None:
    queue = lanes.Lanes()
    for lane in ("a", "a", "b"):
        queue.enter(asked(lane))
    first, second = queue.next(), queue.next()
    assert first and second
    assert (first.lane, second.lane, queue.next()) == ("a", "b", None)
    queue.leave("a")
    third = queue.next()
    assert third and third.lane == "a"


def test_a_request_that_can_begin_at_once_needs_no_place_among_those_that_wait() -> None:
    queue = lanes.Lanes()
    queue.enter(asked("a"))
    assert queue.next()
    for _ in range(lanes.WAITING):
        queue.enter(asked("a"))
    with pytest.raises(ClientError, match="Too many requests wait"):
        queue.enter(asked("a"))
    queue.enter(asked("b"))


def test_of_a_request_that_waits_only_the_bytes_are_kept() -> None:
    queue = lanes.Lanes()
    first, second = asked("a"), asked("a")
    queue.enter(first)
    assert queue.next() is first
    queue.enter(second)

    assert (first.data, second.data) == ({}, None)
