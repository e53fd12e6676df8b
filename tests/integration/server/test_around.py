"""What stands around the answers: models, health, the description, and the synchronous SDK."""

import asyncio
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given
from openai import BadRequestError, NotFoundError, OpenAI

from antiphon.server.resources.openapi import describe
from antiphon.upstream.demo.backend import DemoBackend
from tests.support.chance import examples
from tests.support.parts import Listed
from tests.support.replay import ReplayBackend
from tests.support.server import RunningServer, serve


async def test_models_of_all_backends_are_listed_once() -> None:
    async with serve(Listed("a", ["x", "y"]), Listed("b", ["y", "org/z"])) as server:
        listed = [model async for model in server.sdk.models.list()]
        one = await server.sdk.models.retrieve("org/z")

    assert [(model.id, model.owned_by) for model in listed] == [
        ("x", "a"),
        ("y", "a"),
        ("org/z", "b"),
    ]
    assert (one.id, one.object) == ("org/z", "model")


async def test_a_model_that_appears_is_listed_at_once(
    server: RunningServer, backend: ReplayBackend
) -> None:
    assert (await server.get("/models/new"))[0] == 404
    backend.models.append({"id": "new"})

    assert (await server.get("/models/new"))[0] == 200


async def test_a_live_process_reports_itself_alive_in_any_state() -> None:
    async with serve(Listed("gone", None)) as server:
        root = server.url.removesuffix("/v1")
        async with server.http.get(f"{root}/healthz") as response:
            assert (response.status, await response.json()) == (200, {"status": "ok"})


async def test_a_server_is_ready_when_its_store_answers_and_a_backend_was_reached() -> None:
    backend = Listed("late", None)
    async with serve(backend) as server:
        root = server.url.removesuffix("/v1")

        async def ready() -> tuple[int, Any]:
            async with server.http.get(f"{root}/readyz") as response:
                return response.status, await response.json()

        assert await ready() == (503, {"status": "unavailable", "store": True, "backends": False})
        backend.models = ["x"]
        assert await ready() == (200, {"status": "ok", "store": True, "backends": True})
        await server.parts.store.close()
        assert await ready() == (503, {"status": "unavailable", "store": False, "backends": True})


async def test_the_description_is_available_and_valid_openapi(server: RunningServer) -> None:
    async with server.http.get(f"{server.url.removesuffix('/v1')}/openapi.json") as response:
        body = await response.json()

    schemathesis.openapi.from_dict(body).validate()
    assert body["openapi"].startswith("3.1")
    assert body == describe()


def test_the_validation_of_descriptions_can_fail() -> None:
    broken = describe()
    broken["paths"]["/v1/models"]["get"].pop("responses")
    broken["info"].pop("title")

    with pytest.raises(Exception, match=r"title|info|responses"):
        schemathesis.openapi.from_dict(broken).validate()


def test_every_parameter_of_a_response_is_described() -> None:
    described = describe()["components"]["schemas"]["CreateResponse"]["properties"]

    assert {
        "model",
        "input",
        "instructions",
        "tools",
        "tool_choice",
        "text",
        "reasoning",
        "store",
    } <= described.keys()


MODES = [schemathesis.GenerationMode.POSITIVE, schemathesis.GenerationMode.NEGATIVE]


def fuzz(url: str, operation: str, mode: schemathesis.GenerationMode) -> None:
    """Send requests that the description allows, or does not, and see that none is a fault of
    ours.
    """

    @examples(6, suppress_health_check=list(HealthCheck), database=None)
    @given(OPERATIONS[operation].as_strategy(generation_mode=mode))
    def send(case: Any) -> None:
        response = case.call(base_url=url)
        assert response.status_code < 500, (case, response.text)

    send()


OPERATIONS = {
    one.ok().label: one.ok()
    for one in schemathesis.openapi.from_dict(describe()).get_all_operations()
}


def is_worth_fuzzing(operation: str, mode: schemathesis.GenerationMode) -> bool:
    """Where an id is all there is to send, nothing is wrong by its schema: any text is an id."""
    takes_only_an_id = "{" in operation and (
        "input_items" not in operation or "/admin/" in operation
    )
    return ("{" in operation or "POST" in operation) and not (
        takes_only_an_id and mode is schemathesis.GenerationMode.NEGATIVE
    )


@pytest.mark.wide
@pytest.mark.parametrize(
    ("operation", "mode"),
    [
        (operation, mode)
        for operation in OPERATIONS
        for mode in MODES
        if is_worth_fuzzing(operation, mode)
    ],
)
async def test_nothing_that_a_client_sends_is_a_fault_of_ours(
    operation: str, mode: schemathesis.GenerationMode
) -> None:
    async with serve(DemoBackend()) as server:
        await asyncio.to_thread(fuzz, server.url.removesuffix("/v1"), operation, mode)


async def test_the_synchronous_sdk_creates_streams_chains_retrieves_pages_and_deletes(
    server: RunningServer,
) -> None:
    def use() -> None:
        with OpenAI(base_url=server.url, api_key="sk-test", max_retries=0) as sdk:
            first = sdk.responses.create(model="m", input="one")
            assert first.output_text == "You said: one"

            events = list(
                sdk.responses.create(
                    model="m", input="two", previous_response_id=first.id, stream=True
                )
            )
            assert [event.sequence_number for event in events] == list(range(len(events)))
            second = events[-1].response

            with sdk.responses.stream(
                model="m", input="three", previous_response_id=second.id
            ) as stream:
                assert (
                    "".join(e.delta for e in stream if e.type == "response.output_text.delta")
                    == "You said: three "
                )
                third = stream.get_final_response()

            pages = sdk.responses.input_items.list(third.id, limit=2, order="asc")
            assert [item.role for item in pages] == [
                "user",
                "assistant",
                "user",
                "assistant",
                "user",
            ]

            assert sdk.responses.retrieve(third.id).output_text == "You said: three "
            sdk.responses.delete(third.id)
            assert [model.id for model in sdk.models.list()] == ["m"]

    await asyncio.to_thread(use)


async def test_the_sdk_raises_the_right_error_for_each_refusal(server: RunningServer) -> None:
    with pytest.raises(BadRequestError) as bad:
        await server.sdk.responses.create(model="m", input="x", temperature=99)
    with pytest.raises(NotFoundError):
        await server.sdk.responses.retrieve("resp_none")

    assert (bad.value.code, bad.value.param) == ("decimal_above_max_value", "temperature")
    assert bad.value.request_id is not None
