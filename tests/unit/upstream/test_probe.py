"""Asking a server which API it speaks."""

import pytest

from antiphon.errors import BackendError
from antiphon.upstream.backend import Reply
from antiphon.upstream.options import BackendOptions
from antiphon.upstream.registry import ModelRegistry, probe
from antiphon.upstream.scripted import ScriptedBackend


class Refusing(ScriptedBackend):
    """Answers every POST with one status, or not at all."""

    def __init__(self, status: int) -> None:
        super().__init__([], models=["m"])
        self.url = "http://127.0.0.1:1/v1"
        self.status = status

    def answer(self, path: str, request: dict[str, object]) -> tuple[int, object] | BackendError:
        assert path == "/responses"
        return (
            (self.status, {"error": {}})
            if self.status
            else BackendError("Nobody is there.", status=503)
        )


@pytest.mark.parametrize(
    ("status", "api"),
    [
        (400, "responses"),
        (422, "responses"),
        (404, "chat"),
        (405, "chat"),
        (501, "chat"),
        (200, "chat"),
        (401, None),
        (429, None),
        (500, None),
        (503, None),
        (0, None),
    ],
)
async def test_a_server_that_misses_the_model_knows_responses(status: int, api: str | None) -> None:
    assert await probe(Refusing(status)) == api


@pytest.mark.parametrize("status", [400, 404, 500])
async def test_the_answer_is_closed_unread(status: int) -> None:
    """Else its connection could not be used again."""
    read: list[str] = []

    class Body:
        def __aiter__(self) -> "Body":
            return self

        async def __anext__(self) -> bytes:
            read.append("read")
            raise StopAsyncIteration

        async def aclose(self) -> None:
            read.append("closed")

    class Watched(Refusing):
        async def post(self, path: str, body: bytes) -> Reply:
            return Reply(self.status, {}, Body())

    await probe(Watched(status))

    assert read == ["closed"]


@pytest.mark.parametrize(
    ("configured", "dialect", "status", "api", "times"),
    [
        ("auto", "generic", 400, "responses", 1),
        ("auto", "generic", 404, "chat", 1),
        ("auto", "generic", 503, "chat", 2),
        ("auto", "openai", 404, "responses", 0),
        ("auto", "ollama", 400, "chat", 0),
        ("chat", "openai", 400, "chat", 0),
        ("responses", "ollama", 404, "responses", 0),
    ],
)
async def test_precedence_is_configuration_then_family_then_server_once(
    configured: str, dialect: str, status: int, api: str, times: int
) -> None:
    backend = Refusing(status)
    models = ModelRegistry(
        [backend],
        lambda: 0,
        {backend.name: dialect},
        {backend.name: BackendOptions(api=configured)},
    )  # type: ignore[arg-type]
    await models.refresh()
    await models.refresh()

    assert (await models.find("m")).api == api
    assert len(backend.requests) == times


async def test_the_probed_api_of_a_server_outlives_a_configuration_change() -> None:
    backend = Refusing(400)
    shares = {backend.name: BackendOptions(api="auto")}
    dialects = {backend.name: "generic"}
    models = ModelRegistry([backend], lambda: 0, dialects, shares)
    await models.refresh()
    models.assign([backend], dialects, shares)
    await models.refresh()

    assert (await models.find("m")).api == "responses"
    assert len(backend.requests) == 1
