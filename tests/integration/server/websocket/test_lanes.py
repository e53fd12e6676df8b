"""Lanes of a socket: order in a lane, freedom between them, and how many there may be
(specification section 8).
"""

import asyncio

import pytest

from antiphon.errors import ClientError
from antiphon.server.websocket import lanes
from tests.support.replay import Answer, ReplayBackend, delta, sse, text
from tests.support.server import RunningServer
from tests.support.socket import talk, text_of


class BlockedBackend:
    """A model that says how the request begins and then waits to be let go."""

    def __init__(self, backend: ReplayBackend) -> None:
        self.backend = backend
        self.gates: dict[str, asyncio.Event] = {}
        backend.script = self

    def __call__(self, request: dict) -> Answer:
        content = request["messages"][-1]["content"]
        gate = self.gates.setdefault(content, asyncio.Event())
        return Answer([sse(delta(content="A"), done=False)], wait=gate, rest=[text("Z")])

    def let(self, text: str) -> None:
        self.gates.setdefault(text, asyncio.Event()).set()


async def test_the_events_of_a_lane_have_its_name(server: RunningServer):
    async with talk(server) as one:
        events = await one.create(stream_id="lane-1")
    assert {event["stream_id"] for event in events} == {"lane-1"}


@pytest.mark.parametrize("name", ["", "no lane", "a/b", "é", "a" * 257, "a\n", 7, ["a"]])
async def test_a_lane_that_cannot_be_is_refused(server: RunningServer, name):
    async with talk(server) as one:
        error = await one.refusal(stream_id=name)
    assert (error["code"], error["param"]) == ("invalid_stream_id", "stream_id")
    assert error["message"].startswith("The 'stream_id' field ")


async def test_in_a_lane_one_response_ends_before_the_next_begins(
    server: RunningServer, backend: ReplayBackend
):
    retained = BlockedBackend(backend)
    async with talk(server) as one:
        for stated in ("One", "Two"):
            await one.send_request(stated)
        received = await one.until("response.output_text.delta")
        retained.let("One")
        received += await one.until("response.completed")
        retained.let("Two")
        received += await one.until("response.completed")

    turns = [
        event["type"]
        for event in received
        if event["type"] in {"response.created", "response.completed"}
    ]
    assert turns == ["response.created", "response.completed"] * 2


async def test_another_lane_continues_concurrently(server: RunningServer, backend: ReplayBackend):
    retained = BlockedBackend(backend)
    retained.let("Two")
    async with talk(server) as one:
        await one.send_request("One", stream_id="a")
        await one.until("response.output_text.delta")
        await one.send_request("Two", stream_id="b")
        await one.until("response.completed", stream_id="b")
        retained.let("One")
        await one.until("response.completed", stream_id="a")


async def test_the_17th_response_in_flight_waits_for_one_to_end(
    server: RunningServer, backend: ReplayBackend
):
    retained = BlockedBackend(backend)
    async with talk(server) as one:
        for number in range(17):
            await one.send_request(f"Say {number}", stream_id=f"lane-{number}")
        begun: set[str] = set()
        while len(begun) < lanes.IN_FLIGHT:
            begun |= {event["stream_id"] for event in await one.until("response.output_text.delta")}
        assert "lane-16" not in begun
        retained.let("Say 3")
        received = await one.until("response.created", stream_id="lane-16")
        assert "response.completed" in [
            event["type"] for event in received if event["stream_id"] == "lane-3"
        ]


async def test_a_33rd_name_is_refused_and_the_nameless_lane_is_not_counted(server: RunningServer):
    async with talk(server) as one:
        await one.created()
        for number in range(lanes.NAMES):
            await one.created(stream_id=f"lane-{number}")
        error = await one.refusal(stream_id="lane-32")
        again = await one.created(stream_id="lane-0")
        nameless = await one.created()

    assert error["code"] == "websocket_stream_limit_reached"
    assert "(32)" in error["message"]
    assert (again["status"], nameless["status"]) == ("completed", "completed")


@pytest.mark.wide
async def test_more_than_can_wait_is_refused_and_what_waits_is_answered(
    server: RunningServer, backend: ReplayBackend
):
    retained = BlockedBackend(backend)
    async with talk(server) as one:
        await one.send_request("First")
        await one.until("response.output_text.delta")
        for _ in range(lanes.WAITING + 1):
            await one.send_request("Next")
        received = await one.until("error")
        retained.let("First")
        retained.let("Next")
        answered = [await one.until("response.completed") for _ in range(lanes.WAITING + 1)]

    assert (received[-1]["status"], received[-1]["error"]["code"]) == (429, "too_many_requests")
    assert text_of(answered[-1][-1]["response"]) == "AZ"


async def test_an_error_in_a_lane_waits_for_its_turn(server: RunningServer, backend: ReplayBackend):
    retained = BlockedBackend(backend)
    async with talk(server) as one:
        await one.send_request("One")
        await one.until("response.output_text.delta")
        await one.send_request(7)
        retained.let("One")
        received = await one.until("error")
    assert "response.completed" in [event["type"] for event in received]


def requested(lane: str | None) -> lanes.LaneRequest:
    return lanes.LaneRequest(lane, b"{}", {})


def test_the_oldest_request_that_can_begin_begins() -> None:
    queue = lanes.Lanes()
    for lane in ("a", "a", "b"):
        queue.enter(requested(lane))
    first = queue.next()
    second = queue.next()
    assert first and second
    assert (first.lane, second.lane, queue.next()) == ("a", "b", None)
    queue.leave("a")
    third = queue.next()
    assert third and third.lane == "a"


def test_a_request_that_can_begin_at_once_needs_no_place_among_those_that_wait() -> None:
    queue = lanes.Lanes()
    queue.enter(requested("a"))
    assert queue.next()
    for _ in range(lanes.WAITING):
        queue.enter(requested("a"))
    with pytest.raises(ClientError, match="Too many requests wait"):
        queue.enter(requested("a"))
    queue.enter(requested("b"))


def test_only_the_bytes_of_a_waiting_request_are_retained() -> None:
    queue = lanes.Lanes()
    first = requested("a")
    second = requested("a")
    queue.enter(first)
    assert queue.next() is first
    queue.enter(second)

    assert (first.data, second.data) == ({}, None)
