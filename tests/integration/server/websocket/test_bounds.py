"""What a socket's client cannot do, and how a socket ends (specification section 8)."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator

import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from antiphon.gateway import Gateway
from antiphon.http_server import host
from antiphon.http_server import websocket_limits as bounded
from antiphon.server.application import create_app
from antiphon.server.limits import ServerLimits
from antiphon.server.websocket import connection as websocket
from antiphon.server.websocket import lane_stream
from antiphon.server.websocket.channel import EventChannel
from antiphon.upstream.http import HttpBackend
from tests.support.parts import scripted_parts
from tests.support.raw import connected
from tests.support.replay import Answer, ReplayBackend, delta, echo, sse, text
from tests.support.server import RunningServer, serve
from tests.support.socket import talk, text_of
from tests.support.waiting import PATIENCE, let_others_run, until

TEXT = sse(delta(content="Once"), done=False)


class Slow:
    """A model that stops in the middle until it is let go."""

    def __init__(self, backend: ReplayBackend) -> None:
        self.go = asyncio.Event()
        backend.script = lambda request: Answer([TEXT], wait=self.go, rest=[text(" more")])


# Messages.


async def test_a_binary_message_is_refused_and_ends_the_connection(server: RunningServer):
    async with talk(server) as one:
        await one.send_text(b"{}")
        received = await one.receive_event()
        code = await one.closed()
    assert (received["error"]["code"], code) == ("unsupported_message", 1003)


@pytest.mark.wide
async def test_a_too_large_message_closes_the_connection_with_the_reason(
    server: RunningServer, monkeypatch
):
    async with talk(server) as one:
        with pytest.raises(ConnectionClosed):  # where the end is seen while sending
            await one.send_text(b" ".join([b"x" * 1024] * 1024 * 65).decode())
            await one.receive_event()
        assert one.socket.close_code == 1009


async def test_a_large_message_is_taken(server: RunningServer):
    words = "x" * 2_000_000
    async with talk(server, max_size=None) as one:
        assert text_of(await one.created(words)) == f"You said: {words} "


@pytest.mark.parametrize(
    "frame", [b"\x81\x85\0\0\0\0\xff\xfe\xff\xfe\xff", b"\xf1\x80\0\0\0\0", b"\x83\x80\0\0\0\0"]
)
async def test_what_breaks_the_protocol_ends_the_connection(server: RunningServer, frame: bytes):
    async with talk(server) as one:
        one.socket.transport.write(frame)
        with pytest.raises(ConnectionClosed):
            await one.receive_event()
        assert one.socket.close_code in {1002, 1007}


MASK = b"\0\0\0\0"


async def test_a_message_in_very_many_fragments_ends_the_connection(server: RunningServer):
    async with talk(server) as one:
        one.socket.transport.write(b"\x01\x80" + MASK + (b"\x00\x80" + MASK) * 20_000)
        with pytest.raises(ConnectionClosed):
            await one.receive_event()
        assert one.socket.close_code == 1009


async def test_a_frame_that_is_too_large_ends_the_connection(
    server: RunningServer, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(bounded, "MAX_FRAME", 100_000)
    async with talk(server) as one:
        one.socket.transport.write(
            b"\x81\xff" + (30_000_000).to_bytes(8, "big") + MASK + b" " * 110_000
        )
        with pytest.raises(ConnectionClosed):
            await one.receive_event()
        assert one.socket.close_code == 1009
        one.socket.transport.abort()


async def test_what_a_client_sends_after_a_frame_that_is_too_large_takes_no_memory(
    backend: ReplayBackend, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(bounded, "MAX_FRAME", 50_000)
    async with (
        serve(HttpBackend("replay", backend.url), memory=200_000) as server,
        connected(server.url) as (reader, writer),
    ):
        writer.write(
            b"GET /v1/responses HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: upgrade\r\nupgrade: "
            b"websocket\r\n"
            b"sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
        )
        await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), PATIENCE)
        writer.write(b"\x81\xff" + (30_000_000).to_bytes(8, "big") + MASK + b" " * 60_000)
        assert (1009).to_bytes(2, "big") in await asyncio.wait_for(reader.read(), PATIENCE)
        writer.write(b" " * 2_000_000)
        await until(lambda: writer.transport.get_write_buffer_size() == 0)
        async with talk(server, compression=None) as other:
            assert (await other.created("x" * 40_000))["status"] == "completed"


async def test_a_message_can_have_more_bytes_than_each_of_its_frames(
    server: RunningServer, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(bounded, "MAX_FRAME", 10_000)
    body = json.dumps({"type": "response.create", "model": "m", "input": "x" * 50_000})
    async with talk(server, compression=None) as one:
        await one.socket.send(body[start : start + 5_000] for start in range(0, len(body), 5_000))
        assert (await one.until("response.completed"))[-1]["type"] == "response.completed"


async def test_messages_that_are_not_whole_have_room_together(backend: ReplayBackend):
    begun = b"\x01\xfe" + (60_000).to_bytes(2, "big") + MASK + b" " * 50_000
    async with serve(HttpBackend("replay", backend.url), memory=90_000) as server:
        async with talk(server) as one, talk(server) as other:
            one.socket.transport.write(begun)
            other.socket.transport.write(begun)
            ended = [asyncio.create_task(each.socket.wait_closed()) for each in (one, other)]
            await asyncio.wait(ended, return_when=asyncio.FIRST_COMPLETED, timeout=30)
            codes = {one.socket.close_code, other.socket.close_code}
            for each in (one, other):  # in the middle of a message nobody can say goodbye
                each.socket.transport.abort()
        assert codes == {None, 1013}
        async with talk(server) as third:
            assert (await third.created())["status"] == "completed"


async def test_messages_that_are_whole_and_not_received_have_room_together(
    backend: ReplayBackend, monkeypatch: pytest.MonkeyPatch
):
    gate = asyncio.Event()
    receive = EventChannel.receive_event

    async def receive_late(channel: EventChannel) -> bytes | None:
        await gate.wait()
        return await receive(channel)

    monkeypatch.setattr(EventChannel, "receive_event", receive_late)
    async with serve(HttpBackend("replay", backend.url), memory=90_000) as server:
        async with talk(server, compression=None) as one, talk(server, compression=None) as other:
            await one.send_request("x" * 50_000)
            await other.send_request("x" * 50_000)
            ended = [asyncio.create_task(each.socket.wait_closed()) for each in (one, other)]
            await asyncio.wait(ended, return_when=asyncio.FIRST_COMPLETED, timeout=30)
            assert {one.socket.close_code, other.socket.close_code} == {None, 1013}
            gate.set()
        async with talk(server) as third:
            assert (await third.created("x" * 50_000))["status"] == "completed"


@pytest.mark.wide
async def test_a_client_that_reads_no_pongs_receives_no_more_of_them(server: RunningServer):
    async with talk(server) as one:
        one.socket.transport.pause_reading()
        connections = server.host.server_state.connections
        (serving,) = (each for each in connections if isinstance(each, bounded.BoundedWebSocket))
        # The kernel shall hold few of the 5 MB of answers. Where pings arrive it would drop what
        # does not fit, and the client would send that again after ever longer pauses.
        one.socket.transport.get_extra_info("socket").setsockopt(
            socket.SOL_SOCKET, socket.SO_RCVBUF, 65_536
        )
        serving.transport.get_extra_info("socket").setsockopt(
            socket.SOL_SOCKET, socket.SO_SNDBUF, 65_536
        )
        ping = b"\x89\xfd" + MASK + b"p" * 125
        for _ in range(20):
            one.socket.transport.write(ping * 2_000)
            await let_others_run()
        await until(lambda: one.socket.transport.get_write_buffer_size() == 0)
        assert serving.transport.get_write_buffer_size() < 1_000_000
        one.socket.transport.abort()  # else it waits for the server's farewell, and reads nothing


# Who reads slowly, or not at all.


async def test_a_client_that_does_not_read_slows_its_model_down(
    server: RunningServer, backend: ReplayBackend
):
    """The rest stays with the model's server: 64 MB are offered, a few are taken."""
    piece = sse(delta(content="x" * 65_536), done=False)
    taken = 0

    class Counted(list):
        def __iter__(self):
            nonlocal taken
            for _ in range(1024):
                taken += 1
                yield piece

    backend.script = lambda request: Answer(Counted())
    async with talk(server, compression=None) as one:
        one.socket.transport.pause_reading()
        await one.send_request()
        await until(lambda: taken)
        for _ in range(50):
            await server.get("/models")  # of the same backend, which so has time to send more
        assert taken < 512
        one.socket.transport.abort()


async def test_a_client_without_pongs_is_disconnected(backend: ReplayBackend, monkeypatch):
    monkeypatch.setattr(host, "PING_EVERY", 0.05)
    monkeypatch.setattr(bounded, "LAST_WORDS", 0.05)
    Slow(backend)
    async with (
        serve(HttpBackend("replay", backend.url, "k")) as server,
        talk(server, ping_interval=None) as one,
    ):
        await one.send_request()
        await one.until("response.output_text.delta")
        one.socket.transport.pause_reading()
        await asyncio.wait_for(backend.left.wait(), 30)
        one.socket.transport.abort()


async def test_a_client_with_pongs_stays_connected(backend: ReplayBackend, monkeypatch):
    monkeypatch.setattr(host, "PING_EVERY", 0.02)
    pongs = []
    taken = bounded.BoundedWebSocket.handle_pong
    monkeypatch.setattr(
        bounded.BoundedWebSocket,
        "handle_pong",
        lambda self, frame: (pongs.append(frame), taken(self, frame)),
    )
    async with serve(HttpBackend("replay", backend.url, "k")) as server, talk(server) as one:
        await until(lambda: len(pongs) > 3)
        assert (await one.created())["status"] == "completed"


async def test_a_silent_model_is_covered_up_as_in_a_stream(
    server: RunningServer, backend: ReplayBackend, monkeypatch
):
    monkeypatch.setattr(lane_stream, "KEEPALIVE_AFTER", 0.1)
    backend.script = lambda request: Answer([b": wait\n\n"], wait=asyncio.Event())
    async with talk(server) as one:
        await one.send_request()
        received = await one.until("keepalive")
    assert [event["type"] for event in received] == [
        "response.created",
        "response.in_progress",
        "keepalive",
    ]
    assert [event["sequence_number"] for event in received] == [0, 1, 2]


# Who leaves.


@pytest.mark.parametrize("leave", ["close", "abort"])
async def test_a_disconnected_client_ends_the_work_for_it(
    server: RunningServer, backend: ReplayBackend, leave: str
):
    Slow(backend)
    async with talk(server) as one:
        await one.send_request()
        begun = await one.until("response.output_text.delta")
        if leave == "close":
            await one.socket.close()
        else:
            one.socket.transport.abort()
        await asyncio.wait_for(backend.left.wait(), 30)
    await until(lambda: not server.parts.process.runs)

    _, stored = await server.get(f"/responses/{begun[0]['response']['id']}")
    assert (stored["status"], stored["output_text"]) == ("cancelled", "Once")


async def test_what_waited_is_not_begun_after_its_client_has_left(
    server: RunningServer, backend: ReplayBackend
):
    Slow(backend)
    async with talk(server) as one:
        for _ in range(3):
            await one.send_request()
        await one.until("response.output_text.delta")
    await asyncio.wait_for(backend.left.wait(), 30)
    await until(lambda: not server.parts.process.runs)
    assert len(backend.requests) == 1


# The 60-minute limit.


async def test_an_outdated_connection_is_notified_and_closed(server: RunningServer, monkeypatch):
    monkeypatch.setattr(websocket, "OPEN_FOR", 0.05)
    async with talk(server) as one:
        received = await one.receive_event()
        code = await one.closed()
    assert received["error"]["code"] == "websocket_connection_limit_reached"
    assert (received["status"], code) == (400, 1001)


async def test_running_responses_end_first_and_no_new_one_begins(
    server: RunningServer, backend: ReplayBackend, monkeypatch
):
    slow = Slow(backend)
    turned = asyncio.Event()
    reached = websocket.limit_reached

    def reported():
        turned.set()
        return reached()

    monkeypatch.setattr(websocket, "OPEN_FOR", 0.2)
    monkeypatch.setattr(websocket, "limit_reached", reported)
    async with talk(server) as one:
        await one.send_request(stream_id="a")
        await one.until("response.output_text.delta")
        while not turned.is_set():
            await one.send_request("Late", stream_id="b", generate=False)
            late = (await one.until("response.completed", "error", stream_id="b"))[-1]
        slow.go.set()
        received = await one.until("response.completed", stream_id="a")
        code = await one.closed()
    assert late["error"]["code"] == "websocket_connection_limit_reached"
    assert (received[-1]["response"]["status"], code) == ("completed", 1001)


# The end of the server.


@pytest.fixture
async def patient(backend: ReplayBackend) -> AsyncIterator[RunningServer]:
    """A server that gives its replies time to finish."""
    async with serve(HttpBackend("replay", backend.url, "k"), grace=30) as one:
        yield one


async def test_an_idle_socket_is_closed_at_once_when_the_server_stops(patient: RunningServer):
    async with talk(patient) as one:
        await one.created()
        patient.host.stop(30)
        assert await one.closed() == 1001


async def test_running_responses_complete_when_the_server_stops(
    patient: RunningServer, backend: ReplayBackend
):
    slow = Slow(backend)
    async with talk(patient) as one:
        await one.send_request(stream_id="a")
        await one.until("response.output_text.delta")
        patient.host.stop(30)
        await until(lambda: not patient.parts.process.accepts_work)
        (late,) = await one.create(stream_id="b")
        slow.go.set()
        received = await one.until("response.completed")
        code = await one.closed()
    assert (late["status"], late["error"]["headers"]) == (503, {"retry-after": "1"})
    assert (received[-1]["stream_id"], code) == ("a", 1001)


async def test_what_is_not_finished_in_time_fails_in_its_own_words(
    server: RunningServer, backend: ReplayBackend
):
    Slow(backend)
    async with talk(server) as one:
        await one.send_request()
        await one.until("response.output_text.delta")
        server.host.stop(0)
        received = await one.until("response.failed")
        code = await one.closed()
    assert "shutting down" in received[-1]["response"]["error"]["message"]
    assert code == 1001


async def test_a_server_that_stops_takes_no_more_sockets(
    patient: RunningServer, backend: ReplayBackend
):
    slow = Slow(backend)
    async with talk(patient) as one:
        await one.send_request()
        await one.until("response.output_text.delta")
        patient.host.stop(30)
        await until(lambda: not patient.parts.process.accepts_work)
        with pytest.raises(InvalidStatus) as caught:
            async with talk(patient):
                pass
        slow.go.set()
    assert caught.value.response.status_code == 503
    assert json.loads(caught.value.response.body)["error"]["message"].startswith(
        "This server is shutting down"
    )


async def test_a_host_that_cannot_refuse_a_socket_by_http_closes_it() -> None:
    """ASGI servers without the extension answer 403 to a close that comes before the acceptance."""

    sent = []

    async def send(message: dict) -> None:
        sent.append(message)

    async def receive() -> dict:
        return {"type": "websocket.connect"}

    app = create_app(Gateway(scripted_parts()[0]), None, has_websocket=False)  # type: ignore[arg-type]
    await app({"type": "websocket", "path": "/v1/responses", "headers": []}, receive, send)
    assert sent == [{"type": "websocket.close"}]


async def test_a_client_that_leaves_before_its_socket_is_open_is_no_fault(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def send(message: dict) -> None:
        raise ConnectionResetError

    async def receive() -> dict:
        return {"type": "websocket.connect"}

    app = create_app(Gateway(scripted_parts()[0]), None)  # type: ignore[arg-type]
    await app({"type": "websocket", "path": "/v1/responses", "headers": []}, receive, send)
    assert [record for record in caplog.records if record.levelname in ("WARNING", "ERROR")] == []


# An upgrade that is refused.


@pytest.mark.parametrize(("path", "status"), [("/v1/nowhere", 404), ("/v1/responses", 403)])
async def test_a_refused_upgrade_is_one_line_of_the_access_log(
    server: RunningServer, caplog: pytest.LogCaptureFixture, path: str, status: int
) -> None:
    caplog.set_level("INFO", "antiphon.access")
    url = server.url.replace("http://", "ws://").removesuffix("/v1") + path
    with pytest.raises(InvalidStatus) as refused:
        async with connect(url, origin="http://elsewhere.example" if status == 403 else None):
            pass

    lines = [record for record in caplog.records if record.name.startswith(("antiphon", "uvicorn"))]
    assert refused.value.response.status_code == status
    assert [(line.name, line.levelname) for line in lines] == [("antiphon.access", "INFO")]


# What a connection holds.


async def test_what_waits_and_what_is_remembered_have_a_bound_in_each_connection(
    backend: ReplayBackend,
):
    slow = Slow(backend)
    limits = ServerLimits(body=50_000, connection=100_000)
    async with (
        serve(HttpBackend("replay", backend.url), limits=limits) as server,
        talk(server) as one,
    ):
        await one.send_request("x" * 40_000)
        await one.until("response.output_text.delta")
        await one.send_request("y" * 40_000)
        error = await one.refusal("z" * 40_000)
        assert (error["code"], error["type"]) == ("too_many_requests", "requests")
        slow.go.set()
        ended = [
            (await one.until("response.completed"))[-1]["response"]["status"] for _ in range(2)
        ]
        assert ended == ["completed", "completed"]
        backend.script = echo
        assert (await one.created("z" * 40_000))["status"] == "completed"


async def test_the_bytes_of_a_connection_are_free_again_when_it_ends(backend: ReplayBackend):
    Slow(backend)
    limits = ServerLimits(body=50_000, connection=60_000)
    async with serve(HttpBackend("replay", backend.url), limits=limits, memory=60_000) as server:
        async with talk(server) as one:
            await one.send_request("x" * 40_000)
            await one.until("response.output_text.delta")
            async with talk(server) as other:
                assert (await other.refusal("y" * 40_000))["code"] == "server_is_overloaded"
        backend.script = echo
        async with talk(server) as third, asyncio.timeout(30):
            while (await third.create("y" * 40_000))[-1]["type"] == "error":
                pass  # until the server has seen the first connection end


async def test_thousands_of_small_messages_do_not_keep_another_connection_waiting(
    server: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both clients write in one step of the loop, so the server has everything before it answers
    anything.
    """
    answered: list[EventChannel] = []
    refuse = EventChannel.refuse

    async def noted(channel: EventChannel, *arguments: object) -> None:
        answered.append(channel)
        await refuse(channel, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(EventChannel, "refuse", noted)
    async with talk(server) as flood, talk(server) as calm:
        for one, count in ((flood, 1000), (calm, 1)):
            for _ in range(count):
                one.socket.protocol.send_text(b'{"type":"x"}')
        flood.socket.send_data()
        calm.socket.send_data()
        await calm.receive_event()
        before = len(answered)
        for _ in range(1000):
            await flood.receive_event()

    assert len(set(answered)) == 2
    assert before < 500
