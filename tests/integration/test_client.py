"""The library without a server."""

import asyncio
import gc
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import msgspec
import pytest

from antiphon import BackendError, ClientError, ConfigError, Responses
from antiphon.testing import assert_event_stream
from antiphon.upstream.scripted import ScriptedBackend
from tests.support.engine import plain, said
from tests.support.replay import Answer, ReplayBackend, delta, sse


async def test_it_creates_and_tells_the_text() -> None:
    async with Responses(ScriptedBackend([plain("Hello")], models=["m"])) as api:
        response = await api.create(model="m", input="Hi")

    assert (response.status, response.output_text) == ("completed", "Hello")


async def test_without_a_backend_the_demo_answers() -> None:
    async with Responses() as api:
        assert "scripted" in (await api.create(model="demo", input="Hi")).output_text


async def test_it_streams_events() -> None:
    async with Responses() as api:
        events = [msgspec.to_builtins(event) async for event in api.stream(model="demo", input="Hi")]

    assert_event_stream(events)


async def test_it_chains_retrieves_lists_and_deletes() -> None:
    async with Responses(ScriptedBackend([said("one"), said("two")], models=["m"])) as api:
        first = await api.create(model="m", input="a")
        second = await api.create(model="m", input="b", previous_response_id=first.id)
        listed = await api.input_items(second.id, order="asc", limit=2)
        rest = await api.input_items(second.id, order="asc", after=listed["last_id"], include=None)

        assert (await api.retrieve(second.id))["output_text"] == "two"
        assert [item["role"] for item in listed["data"] + rest["data"]] == ["user", "assistant", "user"]
        await api.delete(first.id)
        with pytest.raises(ClientError, match="not found"):
            await api.retrieve(first.id)


async def test_it_counts_input_without_making_anything() -> None:
    backend = ScriptedBackend([plain("Hello")], models=["m"])
    async with Responses(backend) as api:
        counted = await api.count_input_tokens(model="m", input="Hi")

        assert (counted.input_tokens, counted.is_exact) == (8, False)
        assert (await api.create(model="m", input="Hi")).output_text == "Hello"


async def test_it_asks_a_server_with_a_key(backend: ReplayBackend) -> None:
    async with Responses(backend.url, key="sk-mine") as api:
        assert (await api.create(model="m", input="Hi")).output_text == "You said: Hi"

    assert b"Bearer sk-mine" in backend.heads[0]


async def test_it_keeps_responses_in_a_file(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/a.db"
    async with Responses(store=store) as api:
        made = await api.create(model="demo", input="Hi")
    async with Responses(store=store) as api:
        assert (await api.retrieve(made.id))["id"] == made.id


async def test_what_is_wrong_is_raised_by_whose_fault_it_is() -> None:
    async with Responses(ScriptedBackend([[delta(content="Once"), BackendError("It broke.")]], models=["m"])) as api:
        with pytest.raises(ClientError) as caught:
            await api.create(model="m", input="Hi", temperature=99)
        assert caught.value.param == "temperature"
        with pytest.raises(ClientError):
            await api.create(model="m", inptu="Hi")
        with pytest.raises(BackendError):
            await api.create(model="m", input="Hi")
    with pytest.raises(ConfigError):
        await Responses(store="nowhere").retrieve("resp_1")


async def test_leaving_a_stream_early_ends_the_backends_work(backend: ReplayBackend) -> None:
    backend.script = lambda request: Answer([sse(delta(content="Once"), done=False)], wait=asyncio.Event())
    async with Responses(backend.url) as api:
        events = api.stream(model="m", input="Hi")
        async for event in events:
            if msgspec.to_builtins(event)["type"] == "response.output_text.delta":
                break
        await events.aclose()  # type: ignore[attr-defined]

        await asyncio.wait_for(backend.left.wait(), 30)


async def test_a_background_response_is_made_while_the_object_is_open(tmp_path: Path) -> None:
    store = f"sqlite://{tmp_path}/a.db"
    async with Responses(ScriptedBackend([[delta(content="Once"), delta("stop")]], models=["m"]), store=store) as api:
        made = await api.create(model="m", input="Hi", background=True)
        assert made.status == "queued"
        while (response := await api.retrieve(made.id))["status"] in ("queued", "in_progress"):
            await asyncio.sleep(0.01)
        assert (response["status"], response["output_text"]) == ("completed", "Once")
        assert await api.cancel(made.id) == {**response, "output_text": "Once"}
        with pytest.raises(ClientError) as caught:
            await anext(api.stream(model="m", input="Hi", background=True))
        assert caught.value.param == "background"


async def test_an_unknown_conversation_is_refused() -> None:
    async with Responses(ScriptedBackend([[delta(content="Once"), delta("stop")]] * 2, models=["m"])) as api:
        with pytest.raises(ClientError) as caught:
            await api.create(model="m", input="Hi", conversation="conv_none")
        assert (caught.value.status, caught.value.param) == (404, "conversation")


# Whose it is, and what is left of it.


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def store_threads() -> int:
    return sum(thread.name == "antiphon-store" for thread in threading.enumerate())


async def test_an_opening_that_is_cancelled_leaves_nothing(store_url: str) -> None:
    async with Responses(store=store_url) as first:
        await first.create(model="demo", input="Hi")  # what is loaded once is open
    gc.collect()
    files, threads = open_files(), store_threads()
    client = Responses(store=store_url)
    for turns in range(28):
        task = asyncio.create_task(client.create(model="demo", input="Hi"))
        for _ in range(turns % 7):
            await asyncio.sleep(0)
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
    assert (await client.create(model="demo", input="Hi")).status == "completed"
    await client.close()
    gc.collect()

    assert (open_files(), store_threads()) == (files, threads)


def test_an_object_belongs_to_the_loop_of_its_first_use(tmp_path: Path) -> None:
    client = Responses(store=f"sqlite://{tmp_path}/a.db")

    async def use() -> None:
        await client.create(model="demo", input="Hi")
        with ThreadPoolExecutor(1) as pool:
            for act in (client.create(model="demo", input="Hi"), client.retrieve("resp_1"), client.close()):
                with pytest.raises(RuntimeError, match="first used in another event loop"):
                    await asyncio.wrap_future(pool.submit(asyncio.run, act))
        await client.create(model="demo", input="Hi")
        await client.close()

    asyncio.run(use())
    with pytest.raises(RuntimeError, match="needs an object of its own"):
        asyncio.run(client.create(model="demo", input="Hi"))


def test_of_many_threads_that_use_one_object_all_but_one_get_the_rule(tmp_path: Path) -> None:
    client, ready = Responses(store=f"sqlite://{tmp_path}/a.db"), threading.Barrier(8)

    async def use() -> str:
        try:
            await client.create(model="demo", input="Hi")
        except RuntimeError as error:
            return str(error)
        await client.close()
        return "used"

    def run() -> str:
        ready.wait()
        return asyncio.run(use())

    with ThreadPoolExecutor(8) as pool:
        seen = [one.result() for one in [pool.submit(run) for _ in range(8)]]
    assert seen.count("used") == 1
    assert all(one == "used" or "first used in another event loop" in one for one in seen)
