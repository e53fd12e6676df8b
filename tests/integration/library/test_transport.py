"""The official SDK on Antiphon without a server: `http_client` and `async_http_client`."""

import asyncio
import gc
import json
import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from openai import APITimeoutError, AsyncOpenAI, BadRequestError, InternalServerError, OpenAI

import antiphon
from antiphon import BackendError, ConfigError
from antiphon.library import transport
from antiphon.testing import assert_event_stream
from antiphon.upstream.scripted import ScriptedBackend
from tests.support.cli import antiphon as run_antiphon
from tests.support.parts import stated
from tests.support.replay import Answer, ReplayBackend, delta, sse
from tests.support.waiting import until


@pytest.fixture
def sdk() -> Iterator[OpenAI]:
    with OpenAI(api_key="none", http_client=antiphon.http_client(), max_retries=0) as client:
        yield client


@pytest.fixture
async def asdk() -> AsyncIterator[AsyncOpenAI]:
    async with AsyncOpenAI(
        api_key="none", http_client=antiphon.async_http_client(), max_retries=0
    ) as client:
        yield client


def over(backend: Any, **options: Any) -> AsyncOpenAI:
    client = antiphon.async_http_client(backend=backend)
    return AsyncOpenAI(api_key="none", http_client=client, max_retries=0, **options)


def waiting(backend: ReplayBackend) -> None:
    """Have the backend say one word, and wait."""
    backend.script = lambda request: Answer(
        [sse(delta(content="Once"), done=False)], wait=asyncio.Event()
    )


@pytest.mark.wide
def test_the_sdk_creates_chains_streams_and_lists(sdk: OpenAI) -> None:
    first = sdk.responses.create(model="demo", input="My name is Ada.")
    question = {"model": "demo", "input": "What is my name?", "previous_response_id": first.id}
    events = [event.to_dict() for event in sdk.responses.create(**question, stream=True)]
    with sdk.responses.stream(**question) as stream:
        second = stream.get_final_response()

    assert_event_stream(events)
    assert second.output_text == "Your name is Ada."
    assert len(list(sdk.responses.input_items.list(second.id, limit=1))) == 3
    assert [model.id for model in sdk.models.list()] == ["demo"]
    assert sdk.chat.completions.create(
        model="demo", messages=[{"role": "user", "content": "Hi"}]
    ).choices


@pytest.mark.wide
async def test_the_asynchronous_sdk_does_too(asdk: AsyncOpenAI) -> None:
    first = await asdk.responses.create(model="demo", input="My name is Ada.")
    question = {"model": "demo", "input": "What is my name?", "previous_response_id": first.id}
    events = [
        event.to_dict() async for event in await asdk.responses.create(**question, stream=True)
    ]
    async with asdk.responses.stream(**question) as stream:
        second = await stream.get_final_response()

    assert_event_stream(events)
    assert second.output_text == "Your name is Ada."


def test_any_base_url_leads_here(sdk: OpenAI) -> None:
    for url in ("http://127.0.0.1:1/v1", "https://gateway.example/openai/v1/"):
        assert (
            sdk.with_options(base_url=url).responses.create(model="demo", input="Hi").status
            == "completed"
        )


async def test_a_background_stream_resumes(asdk: AsyncOpenAI) -> None:
    stream = await asdk.responses.create(model="demo", input="Hi", background=True, stream=True)
    events = [event async for event in stream]
    assert events[0].type == "response.created"
    async with asdk.responses.stream(response_id=events[0].response.id, starting_after=4) as again:
        assert [event.sequence_number async for event in again] == list(range(5, len(events)))


async def test_events_come_while_the_model_still_writes(backend: ReplayBackend) -> None:
    goes_on = asyncio.Event()
    rest = [sse(delta(content=" upon a time"), delta("stop"))]
    backend.script = lambda request: Answer(
        [sse(delta(content="Once"), done=False)], wait=goes_on, rest=rest
    )
    deltas = []
    async with over(backend.url) as client:
        async for event in await client.responses.create(model="m", input="Hi", stream=True):
            if event.type == "response.output_text.delta":
                deltas.append(event.delta)
                goes_on.set()  # only what was read before lets the model go on
    assert "".join(deltas) == "Once upon a time"


async def test_closing_a_stream_ends_the_models_work(backend: ReplayBackend) -> None:
    waiting(backend)
    async with over(backend.url) as client:
        stream = await client.responses.create(model="m", input="Hi", stream=True)
        async for event in stream:
            if event.type == "response.output_text.delta":
                break
        await stream.close()
        await asyncio.wait_for(backend.left.wait(), 30)


async def test_closing_a_synchronous_stream_ends_the_models_work(backend: ReplayBackend) -> None:
    waiting(backend)

    def use() -> None:
        with OpenAI(
            api_key="none", http_client=antiphon.http_client(backend=backend.url)
        ) as client:
            stream = client.responses.create(model="m", input="Hi", stream=True)
            next(iter(stream))
            stream.close()
            asyncio.run_coroutine_threadsafe(left(), loop).result()

    async def left() -> None:
        await asyncio.wait_for(backend.left.wait(), 30)

    loop = asyncio.get_running_loop()
    await asyncio.to_thread(use)


async def test_cancelling_a_request_ends_the_models_work(backend: ReplayBackend) -> None:
    waiting(backend)
    async with over(backend.url) as client:
        pending = asyncio.create_task(client.responses.create(model="m", input="Hi"))
        await until(lambda: backend.requests)
        pending.cancel()
        await asyncio.wait_for(backend.left.wait(), 30)


async def test_closing_the_client_ends_open_streams(backend: ReplayBackend) -> None:
    waiting(backend)
    client = over(backend.url)
    stream = await client.responses.create(model="m", input="Hi", stream=True)
    await client.close()
    await asyncio.wait_for(backend.left.wait(), 30)
    await stream.close()


async def test_errors_have_status_and_body(asdk: AsyncOpenAI) -> None:
    with pytest.raises(BadRequestError) as caught:
        await asdk.responses.create(model="demo", input="Hi", temperature=9)
    assert (caught.value.status_code, caught.value.param) == (400, "temperature")
    assert caught.value.response.headers["x-request-id"].startswith("req_")


async def test_a_failing_backend_is_a_server_error() -> None:
    async with over(
        ScriptedBackend([BackendError("It broke.", status=503)], models=["m"])
    ) as client:
        with pytest.raises(InternalServerError):
            await client.responses.create(model="m", input="Hi")


async def test_a_silent_model_is_a_timeout(backend: ReplayBackend) -> None:
    waiting(backend)
    async with over(backend.url, timeout=0.5) as client:
        while not backend.requests:  # on a busy machine, the time can end before the call
            with pytest.raises(APITimeoutError):
                await client.responses.create(model="m", input="Hi")
        await asyncio.wait_for(backend.left.wait(), 30)


async def test_a_store_that_cannot_be_used_is_reported_as_it_is() -> None:
    async with AsyncOpenAI(
        api_key="none", http_client=antiphon.async_http_client(store="nowhere")
    ) as client:
        with pytest.raises(ConfigError, match="store URL"):
            await client.responses.create(model="demo", input="Hi")


async def test_it_needs_no_api_key_of_a_store_that_has_some(tmp_path: Path) -> None:
    url = f"sqlite://{tmp_path}/a.db"
    assert (await run_antiphon(tmp_path, "keys", "create", "--store", url)).code == 0
    async with AsyncOpenAI(
        api_key="none", http_client=antiphon.async_http_client(store=url)
    ) as client:
        assert (await client.responses.create(model="demo", input="Hi")).status == "completed"


@pytest.mark.wide
def test_its_thread_ends_with_the_client() -> None:
    gc.collect()
    before = threading.active_count()
    with OpenAI(api_key="none", http_client=antiphon.http_client()) as client:
        client.responses.create(model="demo", input="Hi")
    assert threading.active_count() == before

    forgotten = antiphon.http_client()
    assert forgotten.get("http://antiphon/v1/models").status_code == 200
    del forgotten
    gc.collect()
    assert threading.active_count() == before


@pytest.mark.wide
def test_a_reader_that_is_slow_holds_the_model_up() -> None:
    words = [f"{number} " for number in range(5_000)]
    backend = ScriptedBackend([stated(*words)], models=["m"])
    with antiphon.http_client(backend=backend) as client:
        body = json.dumps({"model": "m", "input": "Hi", "stream": True})
        with client.stream("POST", "http://antiphon/v1/responses", content=body) as reply:
            assert reply.headers["content-type"] == "text/event-stream; charset=utf-8"
            text = "".join(reply.iter_text())
    assert text.count("event: response.output_text.delta\n") == 5_000


def test_a_missing_http_library_is_reported_with_the_command_that_installs_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def missing(name: str) -> Any:
        raise ImportError(name)

    transport.http_library.cache_clear()
    monkeypatch.setattr(transport, "import_module", missing)
    with pytest.raises(ConfigError, match="pip install openai httpx2"):
        antiphon.http_client()


@pytest.mark.parametrize(
    ("needs", "library"),
    [
        (["anyio>=4", "httpx2<3,>=2.12.0"], "httpx2"),
        (["anyio>=4", "httpx<1,>=0.23.0"], "httpx"),
    ],
)
def test_the_http_library_is_the_one_that_the_installed_sdk_needs(
    needs: list[str], library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded: list[str] = []

    def load(name: str) -> Any:
        loaded.append(name)
        return httpx2

    transport.http_library.cache_clear()
    monkeypatch.setattr(transport, "requires", lambda name: needs)
    monkeypatch.setattr(transport, "import_module", load)
    antiphon.http_client()
    transport.http_library.cache_clear()
    assert loaded == [library]


def test_the_clients_are_those_of_the_library_that_the_sdk_uses() -> None:
    transport.http_library.cache_clear()
    assert isinstance(antiphon.http_client(), httpx2.Client)
    assert isinstance(antiphon.async_http_client(), httpx2.AsyncClient)
