import asyncio
import json
import logging
from collections.abc import AsyncIterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.errors import BackendError
from antiphon.upstream.backend import Listing, Reply
from antiphon.upstream.backend_state import NO_REPORT, LoadReport
from antiphon.upstream.health import MOST_FAILURES
from antiphon.upstream.poll import REPORTS, Poll, of_llamacpp, of_ollama, of_vllm
from antiphon.upstream.registry import ModelRegistry
from antiphon.upstream.retry_policy import Failure
from antiphon.upstream.scripted import ScriptedBackend
from tests.support.parts import Listed


class Body:
    """The body of a reply, which knows whether its exchange was ended."""

    is_closed = False

    def __init__(self, body: bytes) -> None:
        self._body = body

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield self._body

    async def aclose(self) -> None:
        self.is_closed = True


class Reporting(Listed):
    """A backend that tells something of itself at one path."""

    def __init__(self, name: str, path: str, body: bytes, status: int = 200) -> None:
        super().__init__(name, ["m"])
        self.path, self.body, self.status = path, Body(body), status

    async def get(self, path: str) -> Reply:
        if path != self.path:
            raise BackendError("Not this path.", status=503)
        return Reply(self.status, {}, self.body)


def models(*backends: Listed, **dialects: str) -> ModelRegistry:
    return ModelRegistry(backends, lambda: 0.0, dialects)


async def test_each_family_is_queried_for_its_loaded_models_and_free_slots_if_it_reports_them() -> (
    None
):
    reporting = [
        Reporting("o", "/../api/ps", b'{"models": [{"name": "m:latest", "context_length": 8192}]}'),
        Reporting("l", "/../slots", b'[{"is_processing": true}]'),
        Reporting("v", "/../metrics", b"vllm:num_requests_waiting 0\n"),
        Reporting("off", "/../slots", b"{}", 501),
    ]
    known = models(
        *(*reporting, Listed("g", ["m"]), Listed("down", ["m"])),
        o="ollama",
        l="llamacpp",
        v="vllm",
        off="llamacpp",
        down="vllm",
    )
    await Poll(known, 10).poll_once()
    seen = [backend.load for backend in known.backends]

    assert seen[0].loaded == {"m:latest"}
    assert seen[0].windows == {"m:latest": 8192}
    assert [one.free for one in seen] == [None, 0, 1, None, None, None]
    assert all(one.body.is_closed for one in reporting)


async def test_a_backend_that_is_not_there_is_taken_out_and_comes_back_when_it_is() -> None:
    backend = Listed("a", None)
    known = models(backend, Listed("b", ["m"]))
    watch = Poll(known, 10)
    for _ in range(MOST_FAILURES):
        await watch.poll_once()
    assert known.backends[0].health.is_ejected

    backend.models = ["m"]
    await watch.poll_once()
    assert not known.backends[0].health.is_ejected


@pytest.mark.parametrize("failure", [Failure(500), Failure(401), Failure(0, is_broken=True)])
async def test_a_backend_that_did_not_answer_and_does_again_is_healthy_whatever_its_requests_failed_of(  # noqa: E501 - one text, or a row of a table
    failure: Failure,
) -> None:
    backend = Listed("a", ["m"])
    known = models(backend, Listed("b", ["m"]))
    health = known.backends[0].health
    watch = Poll(known, 10)
    backend.models = None
    await watch.poll_once()
    for _ in range(MOST_FAILURES):
        health.failed(failure, BackendError("It failed."), known.clock())
    backend.models = ["m"]
    await watch.poll_once()

    assert not health.is_ejected
    assert health.is_up(known.clock())


async def test_a_backend_with_a_working_model_list_is_healthy_only_after_a_successful_request() -> (
    None
):
    known = models(Listed("a", ["m"]), Listed("b", ["m"]))
    health = known.backends[0].health
    for _ in range(MOST_FAILURES):
        health.failed(Failure(500), BackendError("It failed."), known.clock())
    await Poll(known, 10).poll_once()

    assert health.is_ejected


async def test_backends_replaced_during_a_poll_are_not_reported_as_unavailable(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Replaced(Listed):
        """A backend that is replaced while it lists its models."""

        async def list_models(self) -> Listing:
            known.assign([Listed("new", ["m"])])
            return await super().list_models()

    known = models(Replaced("old", ["m"]))
    await Poll(known, 10).poll_once()

    assert [state.name for state in known.backends] == ["new"]
    assert caplog.messages == []


class Listless(Listed):
    """A backend whose list of models is not there, or fails."""

    status = 404

    async def list_models(self) -> Listing:
        if self.models is not None:
            raise BackendError("Listing models failed.", status=self.status)
        return await super().list_models()


@pytest.mark.parametrize("status", [400, 404])
async def test_a_backend_without_a_list_of_models_is_healthy_as_soon_as_it_answers_at_all(
    status: int,
) -> None:
    backend = Listless("a", None)
    known = models(backend, Listed("b", ["m"]))
    watch = Poll(known, 10)
    for _ in range(MOST_FAILURES):
        await watch.poll_once()
    assert known.backends[0].health.is_ejected

    assert not known.backends[0].is_reached
    backend.models = []
    backend.status = 502
    await watch.poll_once()
    assert (known.backends[0].health.is_ejected, known.backends[0].is_reached) == (True, True)
    backend.status = status
    await watch.poll_once()
    assert not known.backends[0].health.is_ejected


async def test_a_line_reports_when_a_backend_fails_and_recovers(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    backend = Listed("a", None)
    other = Listed("b", ["m"])
    known = models(backend, other)
    watch = Poll(known, 10)
    reported: list[list[tuple[str, str]]] = []
    for listed in ([], None, None, ["m"], ["m"], None):
        backend.models = listed
        await watch.poll_once()
        reported.append([(record.levelname, record.getMessage()) for record in caplog.records])
        caplog.clear()
    known.assign([other])
    await watch.poll_once()

    removed = [
        (
            "WARNING",
            "Cannot list the models of a backend: Backend 'a' is unreachable: connection refused.",
        )
    ]
    assert reported == [
        [],
        removed,
        [],
        [("INFO", "Backend 'a' lists its models again.")],
        [],
        removed,
    ]
    assert caplog.records == []


async def test_it_polls_repeatedly_even_after_an_error_until_it_is_closed() -> None:
    polled = asyncio.Event()

    class Odd(ScriptedBackend):
        times = 0

        async def list_models(self):  # type: ignore[no-untyped-def]
            self.times += 1
            if self.times < 3:
                raise RuntimeError
            polled.set()
            return await super().list_models()

    watch = Poll(ModelRegistry([Odd([])], lambda: 0.0), 0.001)
    watch.start()
    async with asyncio.timeout(30):
        await polled.wait()
    await watch.close()
    await watch.close()


def test_ollama_reports_its_loaded_models_by_their_full_names() -> None:
    seen = of_ollama(b'{"models": [{"name": "llama3:latest"}, {"model": "qwen3:8b"}]}')

    assert [seen.has_loaded(name) for name in ("llama3", "llama3:latest", "qwen3:8b", "qwen3")] == [
        True,
        True,
        True,
        False,
    ]
    assert not of_ollama(b'{"models": []}').has_loaded("llama3")


def test_llamacpp_reports_its_free_slots() -> None:
    slots = [{"id": 0, "is_processing": True}, {"id": 1, "is_processing": False}]

    assert of_llamacpp(json.dumps(slots).encode()).free == 1


def test_vllm_has_a_free_slot_as_long_as_its_queue_is_empty() -> None:
    text = (
        "# HELP vllm:num_requests_waiting "
        'x\nvllm:num_requests_waiting{engine="0",model_name="m"} %s\n'
    )

    assert of_vllm((text % "0.0").encode()).free == 1
    assert of_vllm((text % "3.0").encode()).free == 0
    assert of_vllm((text % "3.0" + text % "0.0").encode()).free == 0
    assert of_vllm(b"other 1\n") == NO_REPORT


def test_a_server_that_does_not_report_loaded_models_has_those_that_it_lists() -> None:
    assert LoadReport().has_loaded("anything")


@pytest.mark.wide
@pytest.mark.parametrize("family", REPORTS)
@given(
    body=st.binary()
    | st.recursive(st.none() | st.integers() | st.text(), st.lists).map(json.dumps).map(str.encode)
)
def test_whatever_a_backend_answers_it_is_read(family: str, body: bytes) -> None:
    assert isinstance(REPORTS[family][1](body), LoadReport)
