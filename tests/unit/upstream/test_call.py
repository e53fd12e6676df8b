"""One request to an upstream, whatever comes of it: who is called, what is observed, and that no
slot is lost.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from antiphon.errors import AntiphonError, BackendError, ClientError
from antiphon.upstream.backend import Reply
from antiphon.upstream.backend_state import ModelTarget
from antiphon.upstream.call import BackendRefusal, UpstreamReply, attempt, call
from antiphon.upstream.registry import ModelRegistry
from antiphon.upstream.retry_policy import LONGEST_PAUSE, Failure
from antiphon.upstream.router import Route, Router
from antiphon.upstream.scripted import ScriptedBackend

DOWN = BackendError("Nobody is there.", status=503)
BROKEN = BackendError("The connection broke.")


@dataclass(eq=False)
class Record:
    backend: str
    error: AntiphonError | None = None


@dataclass
class Seen:
    """What an observer sees, in its order."""

    lines: list[str] = field(default_factory=list)

    @property
    def requested(self) -> Sequence[Callable[[Record], None]]:
        return [lambda call: self.lines.append(f"asked {call.backend}")]

    @property
    def spoke(self) -> Sequence[Callable[[Record], None]]:
        return [lambda call: self.lines.append(f"spoke {call.backend}")]

    @property
    def answered(self) -> Sequence[Callable[[Record], None]]:
        return [
            lambda call: self.lines.append(
                f"answered {call.backend}: {call.error.status if call.error else 'well'}"
            )
        ]


class Field:
    """Backends `a`, `b`, …, each with one answer to whatever is sent."""

    def __init__(self, *answers: Any, clock: Callable[[], float] = time.monotonic) -> None:
        self.backends = [
            ScriptedBackend(lambda _, answer=answer: answer, models=["m"]) for answer in answers
        ]  # type: ignore[misc]
        for name, backend in zip("abc", self.backends, strict=False):
            backend.name = name
        self.registry = ModelRegistry(self.backends, lambda: 0.0, clock=clock)
        self.router = Router(self.registry)
        self.seen = Seen()

    async def route(self) -> Route:
        return await self.router.route("m")

    async def call(self, **options: Any) -> tuple[UpstreamReply[Record], bytes]:
        return await call(
            await self.route(), "/chat/completions", body, self.seen, record, Reply.read, **options
        )

    @property
    def in_flight(self) -> list[int]:
        return [state.slots.in_use for state in self.registry.backends]


def record(target: ModelTarget) -> Record:
    return Record(target.state.name)


def body(target: ModelTarget) -> bytes:
    return b'{"model": "%s"}' % target.model.encode()


async def test_an_answer_keeps_its_slot_until_it_is_closed() -> None:
    field = Field({"ok": 1})
    upstream, answer = await field.call()

    assert (answer, field.in_flight) == (b'{"ok": 1}', [1])
    upstream.spoke()
    upstream.succeeded()
    await upstream.close()
    assert field.in_flight == [0]
    assert field.seen.lines == ["asked a", "spoke a", "answered a: well"]
    assert field.backends[0].requests == [{"model": "m"}]


async def test_a_backend_that_completed_an_answer_is_preferred_for_its_chains() -> None:
    field = Field(*[{"ok": 1}] * 3)
    upstream, _ = await field.call()
    upstream.succeeded("resp_1")
    await upstream.close()
    others = [await Router(field.registry).route("m") for _ in range(2)]

    assert {(await field.router.route("m", "resp_1")).target for _ in range(3)} == {upstream.target}
    assert upstream.target not in [one.target for one in others]


@pytest.mark.parametrize(
    ("fails", "status"),
    [(DOWN, 503), ((500, "{}"), 502), ((429, "{}"), 429), ([BROKEN], 502)],
    ids=["unreachable", "error", "limit", "broken"],
)
async def test_where_one_backend_fails_before_its_first_byte_another_answers(
    fails: Any, status: int
) -> None:
    field = Field(fails, {"ok": 1})
    upstream, answer = await field.call()
    await upstream.close()

    assert (answer, upstream.target.state.name) == (b'{"ok": 1}', "b")
    assert field.seen.lines == ["asked a", f"answered a: {status}", "asked b", "answered b: well"]
    assert field.in_flight == [0, 0]


@pytest.mark.parametrize(
    "fails", [DOWN, (500, "{}"), [BROKEN]], ids=["unreachable", "error", "broken"]
)
async def test_where_no_other_backend_answers_the_failure_is_raised(fails: Any) -> None:
    field = Field(fails)
    with pytest.raises(BackendError):
        await field.call()

    assert field.in_flight == [0]
    assert field.registry.backends[0].failed == 1


async def test_a_clients_own_mistake_goes_to_no_other_backend() -> None:
    field = Field((400, '{"error": {"message": "No.", "param": "top_p"}}'), {"ok": 1})
    with pytest.raises(ClientError, match="No") as caught:
        await field.call()

    assert caught.value.param == "top_p"
    assert field.seen.lines == ["asked a", "answered a: 400"]
    assert [state.failed for state in field.registry.backends] == [0, 0]


async def test_a_refusal_can_be_dealt_with_and_the_request_sent_again() -> None:
    field = Field((400, "no"))
    refusals = list[BackendRefusal]()
    route = await field.route()
    await route.acquire()
    created = record(route.target)
    sent = await attempt(
        route, "/x/completions", b"{}", field.seen, created, on_refusal=refusals.append
    )

    assert sent is None
    assert [(one.status, one.error.status) for one in refusals] == [(404, 400)]
    assert field.in_flight == [0]


async def test_where_any_status_is_taken_no_backend_suffers() -> None:
    field = Field((501, "no"), {"ok": 1})
    upstream, answer = await field.call(any_status=True)
    await upstream.close()

    assert (upstream.reply.status, answer) == (501, b"no")
    assert field.registry.backends[0].failed == 0


async def test_a_request_that_is_cancelled_gives_its_slot_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    field = Field({"ok": 1})
    started = asyncio.Event()

    async def hang(path: str, body: bytes) -> Reply:
        started.set()
        await asyncio.Event().wait()
        raise AssertionError

    monkeypatch.setattr(field.backends[0], "post", hang)
    task = asyncio.create_task(field.call())
    async with asyncio.timeout(5):
        await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert field.in_flight == [0]
    assert field.seen.lines == ["asked a", "answered a: well"]


class Body:
    """The body of a reply, which knows whether its exchange was ended."""

    is_closed = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield b"no"

    async def aclose(self) -> None:
        self.is_closed = True


async def test_an_answer_inside_a_refusal_is_the_reply_and_keeps_its_slot(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    field = Field({})
    refusal = Body()

    async def post(path: str, body: bytes) -> Reply:
        return Reply(400, {}, refusal)

    monkeypatch.setattr(field.backends[0], "post", post)
    route = await field.route()
    await route.acquire()
    created = record(route.target)
    sent = await attempt(
        route, "/x", b"{}", field.seen, created, on_refusal=lambda refusal: b'{"answer": 1}'
    )

    assert sent is not None
    assert (refusal.is_closed, field.in_flight) == (True, [1])
    assert (sent.reply.status, sent.reply.content_type, await sent.reply.read()) == (
        200,
        "application/json",
        b'{"answer": 1}',
    )
    await sent.close()
    assert (field.in_flight, field.seen.lines) == ([0], ["asked a", "answered a: well"])


LIMITED = Failure(429, "rate_limit_exceeded", 600)
RATE = ClientError("Slow down.", status=429, type="requests", code="rate_limit_exceeded")


async def test_a_backend_paused_after_its_selection_is_skipped_if_another_is_available() -> None:
    field = Field({"ok": 1}, {"ok": 1})
    route = await field.route()
    first = route.target
    route.report_failure(LIMITED, RATE)
    upstream, _ = await call(route, "/chat/completions", body, field.seen, record, Reply.read)
    await upstream.close()

    assert upstream.target is not first
    assert field.seen.lines[0] == f"asked {upstream.target.state.name}"


async def test_an_answer_that_is_not_read_to_its_end_ends_with_its_exchange(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    field = Field({})
    answer = Body()

    async def post(path: str, body: bytes) -> Reply:
        return Reply(200, {}, answer)

    monkeypatch.setattr(field.backends[0], "post", post)
    upstream, _ = await field.call()
    assert not answer.is_closed
    await upstream.close()
    assert answer.is_closed


@pytest.mark.parametrize(
    ("answer", "any_status", "is_lifted"),
    [({"ok": 1}, False, True), ({"ok": 1}, True, True), ((400, "no"), True, False)],
    ids=["answers", "answers whatever is asked", "refuses"],
)
async def test_a_request_that_a_paused_backend_accepts_ends_its_pause(
    answer: Any, any_status: bool, is_lifted: bool
) -> None:
    now = 1000.0
    field = Field(answer, clock=lambda: now)
    route = await field.route()
    route.report_failure(LIMITED, RATE)
    now += LONGEST_PAUSE
    upstream, _ = await call(
        route, "/chat/completions", body, field.seen, record, Reply.read, any_status=any_status
    )

    assert bool(route.target.state.health.pauses) is not is_lifted
    await upstream.close()
