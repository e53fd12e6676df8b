"""`AsyncAntiphon`: the API as an object, in one event loop."""

import asyncio
import gc
import threading
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from openai.types.responses import ResponseOutputMessage

from antiphon import AntiphonError, AsyncAntiphon, BackendError, ClientError, types
from antiphon.testing import assert_event_stream
from antiphon.upstream.scripted import ScriptedBackend
from tests.support.parts import called, plain, stated
from tests.support.replay import Answer, ReplayBackend, delta, sse
from tests.support.waiting import eventually, let_others_run

TOOL = {"type": "function", "name": "look", "parameters": {"type": "object", "properties": {}}}


@dataclass
class Person:
    name: str


def scripted(*answers: Any) -> ScriptedBackend:
    return ScriptedBackend(list(answers), models=["m"])


@pytest.fixture
async def demo() -> AsyncIterator[AsyncAntiphon]:
    async with AsyncAntiphon() as client:
        yield client


async def test_it_creates_a_response_with_its_text() -> None:
    async with AsyncAntiphon(backend=scripted(plain("Hello"))) as client:
        response = await client.responses.create(model="m", input="Hi")

    assert (response.status, response.output_text) == ("completed", "Hello")
    assert response.to_dict()["output"][0]["content"][0]["text"] == "Hello"
    assert response.to_json(indent=2).startswith('{\n  "id": "resp_')


async def test_without_a_backend_the_demo_answers(demo: AsyncAntiphon) -> None:
    assert "scripted" in (await demo.responses.create(model="demo", input="Hi")).output_text


async def test_output_items_have_their_types_and_go_back_as_input() -> None:
    async with AsyncAntiphon(backend=scripted(called("look"), stated("Done."))) as client:
        first = await client.responses.create(model="m", input="Look.", tools=[TOOL])
        call = first.output[0]
        assert isinstance(call, types.FunctionCall)
        assert (call.type, call.name, call.arguments) == ("function_call", "look", "{}")
        answer = types.FunctionCallOutput(call_id=call.call_id, output="A tree.")
        second = await client.responses.create(model="m", input=[call, answer], tools=[TOOL])

    assert second.output_text == "Done."


async def test_a_response_belongs_to_its_caller() -> None:
    async with AsyncAntiphon(backend=scripted(stated("one"), stated("two"))) as client:
        first = await client.responses.create(model="m", input="a")
        first.output.clear()
        second = await client.responses.create(model="m", input="b", previous_response_id=first.id)
        listed = await client.responses.input_items.list(second.id, order="asc")

    assert [item.type for item in listed.data] == ["message"] * 3


async def test_it_lists_the_models(demo: AsyncAntiphon) -> None:
    listed = await demo.models.list()
    assert [model.id for model in listed] == ["demo"]
    assert [model async for model in demo.models.list()] == listed.data
    assert await demo.models.retrieve("demo") == listed.data[0]


async def test_an_answer_is_an_object_of_a_class_and_the_model_gets_its_schema() -> None:
    backend = scripted(plain('{"name": "Ada"}'), plain('{"name": "Bob"}'))
    async with AsyncAntiphon(backend=backend) as client:
        first = await client.responses.parse(
            model="m", input="Who?", text_format=Person, text={"verbosity": "low"}
        )
        second = await client.responses.create(
            model="m", input="And?", previous_response_id=first.id
        )

    assert first.output_parsed == Person("Ada")
    assert second.output_text == '{"name": "Bob"}'
    sent = backend.requests[0]["response_format"]["json_schema"]
    assert (sent["name"], sent["schema"]["required"]) == ("Person", ["name"])


# Streams.


async def test_it_streams_events(demo: AsyncAntiphon) -> None:
    events = [event async for event in demo.responses.stream(model="demo", input="Hi")]

    assert_event_stream([event.to_dict() for event in events])
    last = events[-1]
    assert isinstance(last, types.ResponseCompletedEvent)
    assert last.response.output_text.endswith("You said: Hi")


async def test_create_with_stream_returns_a_stream(demo: AsyncAntiphon) -> None:
    async with await demo.responses.create(model="demo", input="Hi", stream=True) as stream:
        assert (await anext(stream)).type == "response.created"
        assert (await stream.get_final_response()).status == "completed"


async def test_create_with_stream_raises_what_is_wrong_with_the_request(
    demo: AsyncAntiphon,
) -> None:
    with pytest.raises(ClientError, match="temperature"):
        await demo.responses.create(model="demo", input="Hi", stream=True, temperature=9)


async def test_a_stream_that_was_closed_has_no_final_response(demo: AsyncAntiphon) -> None:
    stream = await demo.responses.create(model="demo", input="Hi", stream=True)
    await stream.close()
    with pytest.raises(AntiphonError, match="closed before its end"):
        await stream.get_final_response()


async def test_leaving_a_stream_early_ends_the_backends_work(backend: ReplayBackend) -> None:
    backend.script = lambda request: Answer(
        [sse(delta(content="Once"), done=False)], wait=asyncio.Event()
    )
    async with AsyncAntiphon(backend=backend.url) as client:
        async with client.responses.stream(model="m", input="Hi") as stream:
            async for event in stream:
                if isinstance(event, types.ResponseTextDeltaEvent):
                    break
        await asyncio.wait_for(backend.left.wait(), 30)


@pytest.mark.wide
async def test_an_unreferenced_stream_ends_the_backends_work(backend: ReplayBackend) -> None:
    backend.script = lambda request: Answer(
        [sse(delta(content="Once"), done=False)], wait=asyncio.Event()
    )
    async with AsyncAntiphon(backend=backend.url) as client:
        async for _ in client.responses.stream(model="m", input="Hi"):
            break
        gc.collect()
        await asyncio.wait_for(backend.left.wait(), 30)


# Background responses.


async def ended(client: AsyncAntiphon, response_id: str) -> types.Response:
    async with await client.responses.retrieve(response_id, stream=True) as stream:
        return await stream.get_final_response()


async def test_a_background_response_runs_while_the_client_is_open(tmp_path: Path) -> None:
    async with AsyncAntiphon(
        backend=scripted(stated("Once")), store=f"sqlite://{tmp_path}/a.db"
    ) as client:
        created = await client.responses.create(model="m", input="Hi", background=True)
        assert created.status == "queued"
        response = await eventually(
            lambda: client.responses.retrieve(created.id),
            lambda one: one.status not in ("queued", "in_progress"),
        )
        assert (response.status, response.output_text) == ("completed", "Once")
        assert (await client.responses.cancel(created.id)).to_dict() == response.to_dict()


async def test_a_background_stream_resumes_after_any_event(tmp_path: Path) -> None:
    async with AsyncAntiphon(store=f"sqlite://{tmp_path}/a.db") as client:
        stream = await client.responses.create(
            model="demo", input="Hi", background=True, stream=True
        )
        events = [event async for event in stream]
        first = events[0]
        assert isinstance(first, types.ResponseCreatedEvent)
        for number in (0, 3, len(events) - 2):
            rest = await client.responses.retrieve(
                first.response.id, stream=True, starting_after=number
            )
            assert [event.to_dict() async for event in rest] == [
                event.to_dict() for event in events[number + 1 :]
            ]
        async with client.responses.stream(response_id=first.response.id) as again:
            assert [event.to_dict() async for event in again] == [
                event.to_dict() for event in events
            ]

    assert_event_stream([event.to_dict() for event in events])


@pytest.mark.parametrize(
    "parameters", [{"response_id": "resp_1", "model": "demo"}, {"starting_after": 1}]
)
async def test_a_stream_is_either_new_or_resumed(
    demo: AsyncAntiphon, parameters: dict[str, Any]
) -> None:
    with pytest.raises(TypeError, match="`response_id` and `starting_after`"):
        demo.responses.stream(**parameters)


async def test_leaving_a_background_stream_does_not_end_the_response(tmp_path: Path) -> None:
    async with AsyncAntiphon(store=f"sqlite://{tmp_path}/a.db") as client:
        async with client.responses.stream(model="demo", input="Hi", background=True) as stream:
            async for event in stream:
                if isinstance(event, types.ResponseCreatedEvent):
                    break
        assert (await ended(client, event.response.id)).status == "completed"


async def test_closing_the_client_is_an_error_for_readers_of_a_background_stream(
    backend: ReplayBackend, tmp_path: Path
) -> None:
    backend.script = lambda request: Answer(
        [sse(delta(content="Once"), done=False)], wait=asyncio.Event()
    )
    begun = asyncio.Event()

    async def read() -> None:
        async for event in client.responses.stream(model="m", input="Hi", background=True):
            if isinstance(event, types.ResponseTextDeltaEvent):
                begun.set()

    async with AsyncAntiphon(backend=backend.url, store=f"sqlite://{tmp_path}/a.db") as client:
        reading = asyncio.create_task(read())
        await begun.wait()
    with pytest.raises(AntiphonError) as caught:
        await reading
    assert caught.value.code == "stream_cut_off"


async def test_a_response_without_a_log_has_no_stream(demo: AsyncAntiphon) -> None:
    response = await demo.responses.create(model="demo", input="Hi")
    with pytest.raises(ClientError, match="background=true"):
        await demo.responses.retrieve(response.id, stream=True)


# Stored responses, their input, compaction and counts.


async def test_it_chains_retrieves_lists_and_deletes() -> None:
    async with AsyncAntiphon(backend=scripted(stated("one"), stated("two"))) as client:
        first = await client.responses.create(model="m", input="a")
        second = await client.responses.create(model="m", input="b", previous_response_id=first.id)
        page = await client.responses.input_items.list(second.id, order="asc", limit=2)
        items = [
            item
            async for item in client.responses.input_items.list(second.id, order="asc", limit=2)
        ]
        from_page = [item async for item in page]

        assert (await client.responses.retrieve(second.id)).output_text == "two"
        assert (len(page.data), page.has_more) == (2, True)
        assert [item.to_dict()["role"] for item in items] == ["user", "assistant", "user"]
        assert from_page == items
        assert (await client.responses.delete(first.id)).to_dict() == {
            "id": first.id,
            "object": "response",
            "deleted": True,
        }
        with pytest.raises(ClientError, match="not found"):
            await client.responses.retrieve(first.id)


async def test_it_compacts(demo: AsyncAntiphon) -> None:
    reported = "The ship went out. " * 50
    compacted = await demo.responses.compact(
        model="demo", input=[{"role": "user", "content": reported}]
    )
    assert [item.type for item in compacted.output] == ["message", "compaction"]
    again = await demo.responses.create(
        model="demo", input=[*compacted.output, {"role": "user", "content": "And?"}]
    )
    assert again.status == "completed"


async def test_it_counts_input_without_making_anything() -> None:
    backend = scripted(plain("Hello"))
    async with AsyncAntiphon(backend=backend) as client:
        counted = await client.responses.input_tokens.count(model="m", input="Hi")

        assert counted.to_dict() == {
            "object": "response.input_tokens",
            "input_tokens": 8,
            "is_exact": False,
        }
        assert (await client.responses.create(model="m", input="Hi")).output_text == "Hello"


async def test_what_is_large_is_stored_and_returned_whole(tmp_path: Path) -> None:
    tale = "The tide was high in Dover. " * 20_000
    async with AsyncAntiphon(store=f"sqlite://{tmp_path}/a.db") as client:
        created = await client.responses.create(model="demo", input=tale)
        page = await client.responses.input_items.list(created.id)
        stored = await client.responses.retrieve(created.id)

    message = page.data[0]
    assert isinstance(message, types.Message)
    assert message.to_dict()["content"][0]["text"] == tale
    assert stored.output_text == created.output_text


# Conversations.


async def test_conversations_keep_items(demo: AsyncAntiphon) -> None:
    conversations = demo.conversations
    created = await conversations.create(
        items=[{"role": "user", "content": "My name is Ada."}], metadata={"topic": "x"}
    )
    await demo.responses.create(model="demo", input="What is my name?", conversation=created.id)
    added = await conversations.items.create(
        created.id, items=[types.Message(role="user", content="Go on.")]
    )
    items = [item async for item in conversations.items.list(created.id, order="asc", limit=2)]

    assert [item.type for item in items] == ["message"] * 4
    assert (
        await conversations.items.retrieve(str(added.last_id), conversation_id=created.id)
    ).to_dict() == added.data[0].to_dict()
    assert (
        await conversations.items.delete(str(added.last_id), conversation_id=created.id)
    ).id == created.id
    assert (await conversations.update(created.id, metadata={"topic": "y"})).metadata == {
        "topic": "y"
    }
    assert (await conversations.retrieve(created.id)).metadata == {"topic": "y"}
    assert (await conversations.delete(created.id)).deleted
    with pytest.raises(ClientError, match="not found"):
        await conversations.retrieve(created.id)


async def test_an_unknown_conversation_is_rejected(demo: AsyncAntiphon) -> None:
    with pytest.raises(ClientError) as caught:
        await demo.responses.create(model="demo", input="Hi", conversation="conv_none")
    assert (caught.value.status, caught.value.param) == (404, "conversation")


# Errors.


async def test_errors_have_a_class_by_the_responsible_party() -> None:
    async with AsyncAntiphon(
        backend=scripted([delta(content="Once"), BackendError("It broke.")])
    ) as client:
        with pytest.raises(ClientError) as caught:
            await client.responses.create(model="m", input="Hi", temperature=99)
        assert caught.value.param == "temperature"
        with pytest.raises(ClientError, match="Did you mean 'input'"):
            await client.responses.create(model="m", input="Hi", extra_body={"inptu": "Hi"})
        with pytest.raises(BackendError):
            await client.responses.create(model="m", input="Hi")


async def test_a_value_that_is_no_json_is_named(demo: AsyncAntiphon) -> None:
    with pytest.raises(TypeError, match="type 'object'"):
        await demo.responses.create(model="demo", input="Hi", metadata={"a": object()})  # type: ignore[dict-item]


async def test_items_of_the_official_sdk_are_input_too(demo: AsyncAntiphon) -> None:
    stated = {"type": "output_text", "text": "Hello", "annotations": []}
    fields = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "status": "completed",
        "content": [stated],
    }
    item: Any = ResponseOutputMessage.model_validate(fields)
    created = await demo.responses.create(
        model="demo", input=[{"role": "user", "content": "Hi"}, item]
    )
    listed = await demo.responses.input_items.list(created.id, order="asc")
    assert [entry.to_dict()["role"] for entry in listed.data] == ["user", "assistant"]


# Whose it is, and what is left of it.


async def test_a_closed_client_raises_an_error() -> None:
    client = AsyncAntiphon()
    await client.responses.create(model="demo", input="Hi")
    await client.close()
    await client.close()
    with pytest.raises(RuntimeError, match="This client is closed"):
        await client.responses.create(model="demo", input="Hi")


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def store_threads() -> int:
    return sum(thread.name == "antiphon-store" for thread in threading.enumerate())


@pytest.mark.wide
async def test_an_opening_that_is_cancelled_leaves_nothing(store_url: str) -> None:
    async with AsyncAntiphon(store=store_url) as first:
        await first.responses.create(model="demo", input="Hi")  # what is loaded once is open
    gc.collect()
    files = open_files()
    threads = store_threads()
    client = AsyncAntiphon(store=store_url)
    for turns in range(28):
        task = asyncio.create_task(client.responses.create(model="demo", input="Hi"))
        await let_others_run(turns % 7)
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
    assert (await client.responses.create(model="demo", input="Hi")).status == "completed"
    await client.close()
    gc.collect()

    assert (open_files(), store_threads()) == (files, threads)


def test_a_client_belongs_to_the_loop_of_its_first_use(tmp_path: Path) -> None:
    client = AsyncAntiphon(store=f"sqlite://{tmp_path}/a.db")

    async def use() -> None:
        await client.responses.create(model="demo", input="Hi")
        with ThreadPoolExecutor(1) as pool:
            create = client.responses.create(model="demo", input="Hi")
            retrieve = client.responses.retrieve("resp_1")
            for act in (create, retrieve, client.close()):
                with pytest.raises(RuntimeError, match="first used in another event loop"):
                    await asyncio.wrap_future(pool.submit(asyncio.run, act))
        await client.responses.create(model="demo", input="Hi")
        await client.close()

    asyncio.run(use())
    with pytest.raises(RuntimeError, match="`Antiphon`, the synchronous client"):
        asyncio.run(client.responses.create(model="demo", input="Hi"))


def test_of_many_threads_that_use_one_client_all_but_one_get_the_rule(tmp_path: Path) -> None:
    client = AsyncAntiphon(store=f"sqlite://{tmp_path}/a.db")
    ready = threading.Barrier(8)

    async def use() -> str:
        try:
            await client.responses.create(model="demo", input="Hi")
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
