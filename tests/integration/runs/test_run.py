"""One response being made: what is told when, what is kept, and that every telling of it is the
same.
"""

import asyncio
import gc
import json
import logging
from collections.abc import Iterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from antiphon.errors import BackendError, StoreError
from antiphon.gateway import Gateway
from antiphon.runs.run import Run
from antiphon.storage.operations import responses
from antiphon.storage.records.responses import StoredResponse
from antiphon.storage.sqlite.store import SqliteStore
from antiphon.testing import assert_event_stream, fold
from tests.support.chance import examples
from tests.support.chunks import chunks, last_chunks
from tests.support.parts import NOW, begin, called, plain, query, scripted_parts, stated, stream
from tests.support.replay import delta


class Watched(SqliteStore):
    """A store in memory whose `save` waits for `go` and then fails if told to."""

    go: asyncio.Event
    saving: asyncio.Event
    error: StoreError | None = None

    async def save(self, response: StoredResponse, **how: Any) -> bool:
        self.saving.set()
        await self.go.wait()
        if self.error is not None:
            raise self.error
        return await super().save(response, **how)


def watched(*, waits: bool = False, error: StoreError | None = None) -> Watched:
    store = Watched.open("sqlite://", now=lambda: NOW)
    assert isinstance(store, Watched)
    store.go, store.saving, store.error = asyncio.Event(), asyncio.Event(), error
    if not waits:
        store.go.set()
    return store


def plainly(value: Any) -> Any:
    return json.loads(msgspec.json.encode(value))


async def test_the_terminal_event_is_emitted_after_it_is_stored() -> None:
    store = watched(waits=True)
    created, backend = scripted_parts(stated("Hi"), store=store)
    backend.cut = 50
    run = await begin(created, stream=True)
    seen: list[Any] = []

    async def read() -> None:
        async for batch in run.events():
            seen.extend(plainly(batch))

    reading = asyncio.create_task(read())
    await asyncio.wait_for(store.saving.wait(), 30)
    assert seen[-1]["type"] == "response.output_text.delta"
    store.go.set()
    await reading

    assert seen[-1]["type"] == "response.completed"
    assert_event_stream(seen)


async def test_a_plain_answer_is_sent_after_it_is_stored() -> None:
    store = watched(waits=True)
    created, _ = scripted_parts(stated("Hi"), store=store)
    pending = asyncio.create_task(query(created))
    await asyncio.wait_for(store.saving.wait(), 30)
    assert not pending.done()
    store.go.set()

    assert await created.store.read(responses.load, "", (await pending)["id"]) is not None


@pytest.mark.parametrize("end", ["stop", "length"])
async def test_a_store_that_fails_at_the_end_fails_the_response(end: str) -> None:
    created, _ = scripted_parts(
        [delta(content="Hi"), delta(end)], store=watched(error=StoreError("The store is full."))
    )
    events = await stream(created)

    assert_event_stream(events)
    assert [event["type"] for event in events[-2:]] == ["error", "response.failed"]
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    response = events[-1]["response"]
    assert response["error"] == {"code": "server_error", "message": "The store is full."}
    assert response["output"][0]["content"][0]["text"] == "Hi"
    assert (response.get("completed_at"), response["incomplete_details"]) == (None, None)


async def test_a_plain_answer_that_cannot_be_stored_is_an_error() -> None:
    created, _ = scripted_parts(stated("Hi"), store=watched(error=StoreError("The store is full.")))

    with pytest.raises(StoreError, match="full"):
        await query(created)


async def test_a_client_that_leaves_while_the_answer_is_stored_changes_nothing() -> None:
    store = watched(waits=True)
    created, _ = scripted_parts(stated("Hi"), store=store)
    run = await begin(created, stream=True)
    pending = asyncio.create_task(run.result())
    await asyncio.wait_for(store.saving.wait(), 30)
    pending.cancel()
    with pytest.raises(asyncio.CancelledError):
        await pending

    assert run.response.status == "completed"


async def leave_early(run: Run) -> None:
    """Read events until there is text, and leave."""
    async with aclosing(run.events()) as batches:
        async for batch in batches:
            if any(event["type"] == "response.output_text.delta" for event in plainly(batch)):
                return


async def test_a_client_that_leaves_in_the_middle_leaves_a_cancelled_response() -> None:
    created, backend = scripted_parts(stated("Once ", "upon ", "a time"))
    backend.cut = 100
    run = await begin(created, stream=True)
    await leave_early(run)
    stored = await Gateway(created).responses.retrieve("", run.response.id, ())

    assert (stored["status"], stored["output"][0]["status"]) == ("cancelled", "incomplete")
    assert stored["output_text"].startswith("Once")


async def test_a_client_that_leaves_a_store_that_fails_sees_no_error(
    caplog: pytest.LogCaptureFixture,
) -> None:
    created, backend = scripted_parts(
        stated("Once ", "upon ", "a time"), store=watched(error=StoreError("The store is full."))
    )
    backend.cut = 100
    await leave_early(await begin(created, stream=True))

    assert "The store is full." in caplog.text


async def test_a_broken_off_answer_fails_with_its_output() -> None:
    created, _ = scripted_parts([delta(content="Once")])
    events = await stream(created)

    assert_event_stream(events)
    assert events[-1]["response"]["status"] == "failed"
    assert (await Gateway(created).responses.retrieve("", events[-1]["response"]["id"], ()))[
        "output_text"
    ] == "Once"


async def test_a_plain_answer_that_breaks_off_is_an_error_and_not_stored() -> None:
    created, _ = scripted_parts([delta(content="Once")])
    run = await begin(created)
    with pytest.raises(BackendError):
        await run.result()

    assert await created.store.read(responses.load, "", run.response.id) is None


async def test_a_fault_of_ours_ends_the_stream_and_goes_to_the_log(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    created, backend = scripted_parts(stated("Once ", "upon"))
    backend.cut = 100

    def crash(*_: Any) -> None:
        raise ZeroDivisionError("secret")

    monkeypatch.setattr("antiphon.translation.items.StreamingMessage.add_text", crash)
    events = await stream(created)

    assert_event_stream(events)
    assert events[-1]["response"]["error"]["code"] == "server_error"
    assert "secret" not in json.dumps(events)
    assert "ZeroDivisionError: secret" in caplog.text


async def test_a_keepalive_begins_a_stream_once_and_then_keeps_it_alive() -> None:
    created, _ = scripted_parts(stated("Hi"))
    run = await begin(created, stream=True)
    first = plainly(run.keepalive_events())
    second = plainly(run.keepalive_events())
    rest = [event for batch in [batch async for batch in run.events()] for event in plainly(batch)]

    assert [event["type"] for event in first] == ["response.created", "response.in_progress"]
    assert [event["type"] for event in second] == ["keepalive"]
    assert run.keepalive_events() == []
    assert_event_stream(first + second + rest)


def everything_in(folder: Path) -> str:
    return "".join(path.read_text("latin-1") for path in folder.iterdir())


async def test_store_false_writes_nothing_anywhere(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    file = tmp_path / "antiphon.db"
    created, backend = scripted_parts(
        stated("canary ", "sings"),
        [delta(content="canary")],
        plain("canary"),
        store=SqliteStore.open(f"sqlite:///{file}", now=lambda: NOW),
    )
    backend.cut = 50
    canary = {
        "input": "canary",
        "instructions": "canary",
        "metadata": {"canary": "canary"},
        "store": False,
    }
    ended = (await stream(created, **canary))[-1]["response"]
    failed = (await stream(created, **canary))[-1]["response"]
    body = await query(created, **canary)
    await leave_early(
        await begin(
            scripted_parts(stated("canary ", "sings"), store=created.store)[0],
            stream=True,
            **canary,
        )
    )

    assert [one["status"] for one in (ended, failed, body)] == ["completed", "failed", "completed"]
    assert await created.store.read(responses.load, "", ended["id"]) is None
    await created.store.close()
    assert "canary" not in everything_in(tmp_path)
    assert "canary" not in caplog.text


async def test_what_is_stored_holds_its_own_items_and_no_history() -> None:
    created, _ = scripted_parts(stated("one"), stated("two"))
    first = await query(created, input="a")
    second = await query(created, input="b", previous_response_id=first["id"])
    stored = await created.store.read(responses.load, "", second["id"])

    assert stored is not None
    assert [
        json.loads(item.body)["content"][0]["text"] for item in (*stored.input, *stored.output)
    ] == ["b", "two"]


OURS = {"id", "call_id", "encrypted_content"}
"""Keys whose values are made anew each time."""


def without_ids(value: Any) -> Any:
    """What two makings of the same response have in common."""
    if isinstance(value, list):
        return [without_ids(member) for member in value]
    if isinstance(value, dict):
        return {key: without_ids(member) for key, member in value.items() if key not in OURS}
    return value


def strings(value: Any) -> Iterator[str]:
    """Every string in a value, in order."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | dict):
        for member in value if isinstance(value, list) else value.values():
            yield from strings(member)


def closes_unopened(answer: list[Any]) -> bool:
    """Whether a block of thoughts ends that none began: streamed, what came before it has gone out
    as text by then.
    """
    text = "".join(strings([delta.get("content") for delta in deltas(answer)]))
    pairs = (("<think>", "</think>"), ("[THINK]", "[/THINK]"))
    anywhere = "".join(strings(answer))
    return any(
        closing in anywhere and opening not in text.partition(closing)[0]
        for opening, closing in pairs
    )


def deltas(answer: list[Any]) -> Iterator[dict[str, Any]]:
    """What is a delta, of chunks that may be anything."""
    for chunk in answer:
        choices = chunk.get("choices")
        for choice in choices if isinstance(choices, list) else ():
            if isinstance(choice, dict) and isinstance(choice.get("delta"), dict):
                yield choice["delta"]


@pytest.mark.wide
@examples(60)
@given(
    st.lists(chunks, max_size=6),
    last_chunks,
    st.sampled_from(
        [{}, {"reasoning": {"summary": "auto"}}, {"include": ["reasoning.encrypted_content"]}]
    ),
    st.integers(0, 60),
)
def test_the_events_folded_the_last_of_them_the_stored_and_the_plain_response_are_one(
    answer: list[Any], last: Any, options: dict[str, Any], cut: int
) -> None:
    assume(not closes_unopened([*answer, last]))

    async def make() -> None:
        created, backend = scripted_parts([*answer, last], [*answer, last])
        backend.cut = cut
        events = await stream(created, **options)
        terminal = events[-1]["response"]
        stored = await Gateway(created).responses.retrieve(
            "", terminal["id"], options.get("include", ())
        )
        stored.pop("output_text")

        assert_event_stream(events)
        assert fold(events) == terminal == stored
        if terminal["status"] == "failed":
            with pytest.raises(BackendError):
                await query(created, **options)
        else:
            body = await query(created, **options)
            body.pop("output_text", None)
            assert without_ids(body) == without_ids(terminal)
        await created.store.close()

    asyncio.run(make())


async def test_nothing_is_emitted_between_the_end_and_its_storage() -> None:
    store = watched(waits=True)
    created, _ = scripted_parts(stated("Hi"), store=store)
    run = await begin(created, stream=True)
    ending = asyncio.create_task(collect(run))
    await asyncio.wait_for(store.saving.wait(), 30)
    assert run.keepalive_events() == []
    store.go.set()

    assert_event_stream(await ending)


async def collect(run: Run) -> list[Any]:
    return [plainly(event) async for batch in run.events() for event in batch]


REFUSAL = {"error": {"message": "The frobnicator declined this.", "code": 400}}


@pytest.mark.wide
@pytest.mark.parametrize(
    ("answers", "body"),
    [
        ([stated("Hello ", "there")], {}),
        ([called()], {"tools": [{"type": "function", "name": "look"}]}),
        ([(400, REFUSAL), stated("Hello")], {"temperature": 1.9}),
        ([REFUSAL, stated("Hello")], {"temperature": 1.9}),
        ([REFUSAL, REFUSAL], {"temperature": 1.9}),
    ],
    ids=["text", "call", "refusal", "refusal inside", "failure"],
)
async def test_a_request_leaves_nothing_to_the_collector(
    answers: list[Any], body: dict[str, Any]
) -> None:
    created, _ = scripted_parts(*answers, *answers)
    await stream(created, **body)  # what is kept for the next one is there now
    gc.collect()
    gc.disable()
    try:
        await stream(created, **body)
        assert gc.collect() == 0
    finally:
        gc.enable()


async def test_an_error_along_with_output_is_a_failure_and_its_tokens_count() -> None:
    created, backend = scripted_parts([{**REFUSAL, **delta(content="Hel")}])

    run = await begin(created, temperature=1.9)
    with pytest.raises(BackendError) as caught:
        await run.result()

    assert caught.value.status == 502
    assert len(backend.requests) == 1
    assert all(run.spent()[:2])


async def test_a_request_that_an_answer_refuses_costs_no_tokens() -> None:
    refusal = {"error": {"message": "Unsupported parameter: 'temperature'", "code": 400}}
    created, backend = scripted_parts(refusal, plain("Hello"))

    run = await begin(created, temperature=1.9)
    response = await run.result()

    assert response.status == "completed"
    assert ["temperature" in sent for sent in backend.requests] == [True, False]
    assert run.spent()[:2] == (5, 1)
