"""One request to an upstream, whatever comes of it: who is called, what is observed, and that no slot is lost."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from antiphon.errors import AntiphonError, BackendError, ClientError
from antiphon.upstream.backend import Reply
from antiphon.upstream.backend_state import Target
from antiphon.upstream.call import Refusal, UpstreamReply, attempt, call
from antiphon.upstream.registry import ModelRegistry
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
    def asked(self) -> Sequence[Callable[[Record], None]]:
        return [lambda call: self.lines.append(f"asked {call.backend}")]

    @property
    def spoke(self) -> Sequence[Callable[[Record], None]]:
        return [lambda call: self.lines.append(f"spoke {call.backend}")]

    @property
    def answered(self) -> Sequence[Callable[[Record], None]]:
        return [
            lambda call: self.lines.append(f"answered {call.backend}: {call.error.status if call.error else 'well'}")
        ]


class Field:
    """Backends `a`, `b`, …, each with one answer to whatever is sent."""

    def __init__(self, *answers: Any) -> None:
        self.backends = [ScriptedBackend(lambda _, answer=answer: answer, models=["m"]) for answer in answers]  # type: ignore[misc]
        for name, backend in zip("abc", self.backends, strict=False):
            backend.name = name
        self.registry = ModelRegistry(self.backends, lambda: 0.0)
        self.seen = Seen()

    async def route(self) -> Route:
        return await Router(self.registry).route("m")

    async def call(self, **options: Any) -> tuple[UpstreamReply[Record], bytes]:
        return await call(await self.route(), "/chat/completions", body, self.seen, record, Reply.read, **options)

    @property
    def in_flight(self) -> list[int]:
        return [state.slots.in_use for state in self.registry.backends]


def record(target: Target) -> Record:
    return Record(target.state.name)


def body(target: Target) -> bytes:
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


@pytest.mark.parametrize(
    ("fails", "status"),
    [(DOWN, 503), ((500, "{}"), 502), ((429, "{}"), 429), ([BROKEN], 502)],
    ids=["unreachable", "error", "limit", "broken"],
)
async def test_where_one_backend_fails_before_its_first_byte_another_answers(fails: Any, status: int) -> None:
    field = Field(fails, {"ok": 1})
    upstream, answer = await field.call()
    await upstream.close()

    assert (answer, upstream.target.state.name) == (b'{"ok": 1}', "b")
    assert field.seen.lines == ["asked a", f"answered a: {status}", "asked b", "answered b: well"]
    assert field.in_flight == [0, 0]


@pytest.mark.parametrize("fails", [DOWN, (500, "{}"), [BROKEN]], ids=["unreachable", "error", "broken"])
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
    field, refusals = Field((400, "no")), list[Refusal]()
    route = await field.route()
    await route.acquire()
    made = record(route.target)
    sent = await attempt(route, "/x/completions", b"{}", field.seen, made, on_refusal=refusals.append)

    assert sent is None
    assert [(one.status, one.error.status) for one in refusals] == [(404, 400)]
    assert field.in_flight == [0]


async def test_where_any_status_is_taken_no_backend_suffers() -> None:
    field = Field((501, "no"), {"ok": 1})
    upstream, answer = await field.call(any_status=True)
    await upstream.close()

    assert (upstream.reply.status, answer) == (501, b"no")
    assert field.registry.backends[0].failed == 0


async def test_a_request_that_is_cancelled_gives_its_slot_back(monkeypatch: pytest.MonkeyPatch) -> None:
    field, started = Field({"ok": 1}), asyncio.Event()

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
