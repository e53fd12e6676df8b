"""`Antiphon`: the API as an object, for programs without an event loop."""

import asyncio
import gc
import json
import re
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct

from antiphon import Antiphon, BackendError, ClientError, types
from antiphon.testing import assert_event_stream
from antiphon.upstream.scripted import ScriptedBackend
from tests.support.parts import plain, stated
from tests.support.replay import delta


@pytest.fixture
def demo() -> Iterator[Antiphon]:
    with Antiphon() as client:
        yield client


def threads() -> int:
    return sum(thread.name in ("antiphon", "antiphon-store") for thread in threading.enumerate())


def test_it_creates_chains_and_retrieves(demo: Antiphon) -> None:
    first = demo.responses.create(model="demo", input="My name is Ada.")
    second = demo.responses.create(
        model="demo", input="What is my name?", previous_response_id=first.id
    )

    assert second.output_text == "Your name is Ada."
    assert demo.responses.retrieve(second.id).to_dict() == second.to_dict()


def test_an_answer_is_an_object_of_a_class() -> None:
    class Person(Struct):
        name: str

    with Antiphon(backend=ScriptedBackend([plain('{"name": "Ada"}')], models=["m"])) as client:
        assert client.responses.parse(
            model="m", input="Who?", text_format=Person
        ).output_parsed == Person("Ada")


def test_it_lists_the_models_of_its_backend() -> None:
    with Antiphon(backend=ScriptedBackend([], models=["small", "large"])) as client:
        models = client.models.list()
        found = client.models.retrieve("large")
        with pytest.raises(ClientError) as caught:
            client.models.retrieve("huge")
    assert [model.id for model in models] == ["small", "large"]
    assert found == models.data[1]
    assert (caught.value.status, caught.value.code) == (404, "model_not_found")
    assert models.to_dict()["data"][0] == {
        "id": "small",
        "object": "model",
        "created": 0,
        "owned_by": "antiphon",
    }


def test_each_response_has_a_line_in_the_access_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "antiphon.access")
    with Antiphon() as client:
        client.responses.create(model="demo", input="Hi")
    (line,) = [record.getMessage() for record in caplog.records if record.name == "antiphon.access"]
    assert re.fullmatch(r"response completed \d+ ms", line)


def test_it_streams_events(demo: Antiphon) -> None:
    with demo.responses.stream(model="demo", input="Hi") as stream:
        events = list(stream)
        assert stream.get_final_response().output_text.endswith("You said: Hi")
    assert_event_stream([event.to_dict() for event in events])


def test_a_stream_delivers_each_event_as_it_comes() -> None:
    goes_on = threading.Event()

    class Slow(ScriptedBackend):
        async def post(self, path: str, body: bytes) -> Any:
            reply = await super().post(path, body)
            parts = reply.body

            async def slow() -> Any:
                async for part in parts:
                    yield part
                    if b"first" in part:
                        await asyncio.to_thread(goes_on.wait)

            reply.body = slow()
            return reply

    with Antiphon(backend=Slow([stated("first", " second")], models=["m"])) as client:
        deltas = []
        for event in client.responses.create(model="m", input="Hi", stream=True):
            if isinstance(event, types.ResponseTextDeltaEvent):
                deltas.append(event.delta)
                goes_on.set()  # the model goes on only after its first word was read
    assert deltas == ["first", " second"]


def test_a_background_stream_resumes_after_any_event(tmp_path: Path) -> None:
    with Antiphon(store=f"sqlite://{tmp_path}/a.db") as client:
        events = list(
            client.responses.create(model="demo", input="Hi", background=True, stream=True)
        )
        first = events[0]
        assert isinstance(first, types.ResponseCreatedEvent)
        rest = list(client.responses.retrieve(first.response.id, stream=True, starting_after=4))
        with client.responses.stream(response_id=first.response.id, starting_after=4) as stream:
            streamed = list(stream)
    assert [event.to_dict() for event in streamed] == [event.to_dict() for event in rest]
    assert [event.sequence_number for event in rest] == list(range(5, len(events)))
    assert [event.to_json() for event in rest] == [event.to_json() for event in events[5:]]


def test_lists_compaction_counts_and_deletion(demo: Antiphon) -> None:
    first = demo.responses.create(model="demo", input="a")
    second = demo.responses.create(model="demo", input="b", previous_response_id=first.id)
    listed = demo.responses.input_items.list(second.id, order="asc", limit=2)

    assert (len(listed.data), listed.has_more, len(list(listed))) == (2, True, 3)
    assert listed.to_dict()["first_id"] == listed.first_id
    assert json.loads(listed.to_json())["last_id"] == listed.last_id
    assert demo.responses.compact(model="demo", input="Hi").output[-1].type == "compaction"
    assert demo.responses.input_tokens.count(model="demo", input="Hi there").input_tokens == 2
    assert demo.responses.delete(first.id).deleted
    queued = demo.responses.create(model="demo", input="c", background=True)
    assert demo.responses.cancel(queued.id).id == queued.id


def test_conversations_keep_items(demo: Antiphon) -> None:
    created = demo.conversations.create(items=[{"role": "user", "content": "My name is Ada."}])
    demo.responses.create(model="demo", input="What is my name?", conversation=created.id)
    added = demo.conversations.items.create(
        created.id, items=[{"role": "user", "content": "Go on."}]
    )
    [item] = added.data

    assert len(list(demo.conversations.items.list(created.id, limit=1))) == 4
    assert (
        demo.conversations.items.retrieve(str(added.first_id), conversation_id=created.id) == item
    )
    assert (
        demo.conversations.items.delete(str(added.first_id), conversation_id=created.id).id
        == created.id
    )
    assert demo.conversations.update(created.id, metadata={"a": "b"}).metadata == {"a": "b"}
    assert demo.conversations.retrieve(created.id).metadata == {"a": "b"}
    assert demo.conversations.delete(created.id).deleted


def test_errors_are_those_of_the_asynchronous_client() -> None:
    backend = ScriptedBackend([[delta(content="Once"), BackendError("It broke.")]], models=["m"])
    with Antiphon(backend=backend) as client:
        with pytest.raises(ClientError) as caught:
            client.responses.create(model="m", input="Hi", temperature=99)
        assert caught.value.param == "temperature"
        with pytest.raises(BackendError):
            client.responses.create(model="m", input="Hi")


async def test_it_can_be_called_where_a_loop_runs(demo: Antiphon) -> None:
    assert demo.responses.create(model="demo", input="Hi").status == "completed"
    created = await asyncio.to_thread(demo.responses.create, model="demo", input="Hi")
    assert created.status == "completed"


def test_many_threads_can_use_one_client(demo: Antiphon) -> None:
    def use(number: int) -> str:
        return demo.responses.create(model="demo", input=f"Number {number}").output_text

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(use, range(32)))
    assert [
        answer.endswith(f"You said: Number {number}") for number, answer in enumerate(answers)
    ] == [True] * 32


def test_a_backend_that_calls_its_own_client_gets_an_error_instead_of_a_deadlock() -> None:
    def calls(request: dict[str, Any]) -> Any:
        client.responses.retrieve("resp_1")

    client = Antiphon(backend=ScriptedBackend(calls, models=["m"]))
    with client, pytest.raises(RuntimeError, match="would wait for itself"):
        client.responses.create(model="m", input="Hi")


def test_its_thread_ends_with_it() -> None:
    before = threads()
    client = Antiphon()
    assert threads() == before
    client.responses.create(model="demo", input="Hi")
    assert threads() == before + 2
    client.close()
    client.close()

    assert threads() == before
    with pytest.raises(RuntimeError, match="This client is closed"):
        client.responses.create(model="demo", input="Hi")


@pytest.mark.wide
def test_an_unreferenced_client_ends_its_thread() -> None:
    before = threads()
    responses = Antiphon().responses
    assert responses.create(model="demo", input="Hi").status == "completed"
    del responses
    gc.collect()
    assert threads() == before


@pytest.mark.wide
def test_a_stream_keeps_its_client_open() -> None:
    stream = Antiphon().responses.create(model="demo", input="Hi", stream=True)
    gc.collect()
    assert stream.get_final_response().status == "completed"
