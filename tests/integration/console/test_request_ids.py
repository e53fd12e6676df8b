"""The details of a response have the id of the request that created it, or none."""

from typing import Any

import pytest

from antiphon import AsyncAntiphon, ScriptedBackend
from antiphon.build.models import options_of
from antiphon.config import ModelConfig
from antiphon.console.reader import ConsoleReader
from antiphon.gateway import Gateway
from antiphon.ids import response_id_of
from antiphon.protocol.console import AdminResponsesQuery
from antiphon.telemetry.context import about
from antiphon.upstream.http import HttpBackend
from antiphon.upstream.options import BackendOptions
from tests.support.replay import ReplayBackend
from tests.support.server import RunningServer, serve
from tests.support.socket import talk
from tests.support.waiting import eventually


async def request_ids(server: RunningServer, count: int) -> list[str | None]:
    """The request ids of the newest responses, once there are so many, the oldest first."""
    reader: ConsoleReader = Gateway(server.parts).console
    query = AdminResponsesQuery(order="asc")
    page = await eventually(
        lambda: reader.page(None, query), lambda page: len(page["data"]) >= count
    )
    return [(await reader.details(None, row["id"]))["request_id"] for row in page["data"]]


@pytest.mark.parametrize("background", [False, True])
async def test_it_is_the_one_that_the_client_received(
    stateful: RunningServer, background: bool
) -> None:
    body = {"model": "m", "input": "Hi", "background": background}
    async with stateful.http.post(f"{stateful.url}/responses", json=body) as reply:
        assert reply.status == 200
    assert await request_ids(stateful, 1) == [reply.headers["x-request-id"]]


async def test_a_response_to_a_message_of_a_socket_has_none(stateful: RunningServer) -> None:
    async with talk(stateful) as one:
        await one.create("Hi")
    assert await request_ids(stateful, 1) == [None]


async def test_only_the_first_choice_of_a_completion_has_one(backend: ReplayBackend) -> None:
    run = options_of([ModelConfig(name="m", chat_completions="run")], "n")
    body = {"model": "m", "messages": [{"role": "user", "content": "Hi"}], "n": 3}
    shares = {"n": BackendOptions(configured=run)}
    async with (
        serve(HttpBackend("n", backend.url), shares=shares) as server,
        server.http.post(f"{server.url}/chat/completions", json=body) as reply,
    ):
        assert reply.status == 200
        found = await request_ids(server, 3)
    assert sorted(found, key=str) == [None, None, reply.headers["x-request-id"]]


class Noting(ScriptedBackend):
    """A backend that notes the ids of requests, as the log has them."""

    def answer(self, path: str, request: dict[str, Any]) -> Any:
        self.noted = about().request_id
        return super().answer(path, request)


async def test_a_response_of_the_library_has_the_digits_of_its_request() -> None:
    answer = {"index": 0, "message": {"role": "assistant", "content": "Hi"}}
    backend = Noting([{"choices": [answer | {"finish_reason": "stop"}]}], models=["m"])
    async with AsyncAntiphon(backend=backend) as client:
        created = await client.responses.create(model="m", input="Hi")
    assert created.id == response_id_of(backend.noted)
