"""Background responses over HTTP and with the official SDK, on both stores: made, polled, replayed,
cancelled.
"""

import asyncio
import json
from typing import Any

import openai
import pytest

from antiphon.storage.operations import jobs, responses
from antiphon.testing import assert_event_stream
from tests.support.chance import times
from tests.support.replay import Answer, ReplayBackend, delta, sse, text
from tests.support.server import RunningServer
from tests.support.waiting import eventually, let_others_run, until

BODY = {"model": "m", "input": "Hi", "background": True}

RACES = times(200)


def retained(go: asyncio.Event, *words: str) -> Any:
    """A backend that says `Once`, waits, and says the rest."""
    rest = sse(*(delta(content=word) for word in words), delta("stop"))
    return lambda request: Answer([sse(delta(content="Once"), done=False)], wait=go, rest=[rest])


async def reaches(server: RunningServer, response_id: str, *statuses: str) -> dict[str, Any]:
    """The response once it has one of these statuses."""
    path = f"/responses/{response_id}"
    return (await eventually(lambda: server.get(path), lambda one: one[1]["status"] in statuses))[1]


async def events(server: RunningServer, path: str) -> tuple[list[dict[str, Any]], bytes]:
    async with server.http.get(server.url + path) as response:
        assert response.headers["content-type"].startswith("text/event-stream"), (
            await response.text()
        )
        body = await response.read()
    return [json.loads(line[6:]) for line in body.split(b"\n") if line.startswith(b"data: ")], body


async def test_it_is_queued_at_once_and_runs_without_a_waiting_client(
    stateful: RunningServer, backend: ReplayBackend
) -> None:
    go = asyncio.Event()
    backend.script = retained(go, " upon a time")
    created = await stateful.sdk.responses.create(**BODY)
    assert (created.status, created.output, created.usage, created.background) == (
        "queued",
        [],
        None,
        True,
    )
    assert (await reaches(stateful, created.id, "in_progress"))["output"] == []
    go.set()
    done = await reaches(stateful, created.id, "completed")

    assert done["output_text"] == "Once upon a time"
    assert done["id"] == created.id
    assert done["completed_at"] >= done["created_at"] == created.created_at


async def test_completed_items_are_emitted_before_the_end(
    stateful: RunningServer, backend: ReplayBackend
) -> None:
    go = asyncio.Event()
    first = sse(delta(reasoning_content="Hm."), delta(content="Well"), done=False)
    backend.script = lambda request: Answer([first], wait=go, rest=[sse(delta("stop"))])
    created = await stateful.sdk.responses.create(**BODY)
    displayed = await eventually(
        lambda: stateful.get(f"/responses/{created.id}"), lambda one: one[1]["output"]
    )
    go.set()
    done = await reaches(stateful, created.id, "completed")

    assert displayed[1]["status"] == "in_progress"
    assert [item["type"] for item in displayed[1]["output"]] == ["reasoning"]
    assert done["output"][0] == displayed[1]["output"][0]


@pytest.mark.wide("postgres")
async def test_its_stream_begins_queued_and_can_be_replayed_byte_for_byte_from_anywhere(
    stateful: RunningServer, backend: ReplayBackend
) -> None:
    backend.script = lambda request: Answer([text(*(f"word{i} " for i in range(50)))])
    async with stateful.http.post(
        f"{stateful.url}/responses", json=BODY | {"stream": True}
    ) as response:
        reported = await response.read()
    first = [json.loads(line[6:]) for line in reported.split(b"\n") if line.startswith(b"data: ")]
    assert [event["type"] for event in first[:3]] == [
        "response.created",
        "response.queued",
        "response.in_progress",
    ]
    assert_event_stream(first)
    path = f"/responses/{first[0]['response']['id']}?stream=true"
    again, body = await events(stateful, path)
    assert body == reported
    frames = reported.split(b"\n\n")
    for after in range(len(first)):
        _, body = await events(stateful, f"{path}&starting_after={after}")
        assert body == b"\n\n".join(frames[after + 1 :])
    bare, _ = await events(stateful, f"{path}&include_obfuscation=false")
    assert [event for event in bare if "obfuscation" in event] == []
    assert [{**event, "obfuscation": 0} for event in again] == [
        {**event, "obfuscation": 0} for event in bare
    ]


async def test_a_client_resumes_after_a_disconnect_without_losing_events(
    stateful: RunningServer, backend: ReplayBackend
) -> None:
    go = asyncio.Event()
    backend.script = retained(go, *(f" {i}" for i in range(20)))
    body = BODY | {"stream": True}
    async with stateful.http.post(f"{stateful.url}/responses", json=body) as response:
        seen = await response.content.readuntil(b'"delta":"Once"')
    response_id = json.loads(seen.split(b"data: ")[1].split(b"\n")[0])["response"]["id"]
    go.set()
    readers = await asyncio.gather(
        *(
            events(stateful, f"/responses/{response_id}?stream=true&starting_after={after}")
            for after in (2, 3, 4, 5)
        )
    )

    whole, _ = await events(stateful, f"/responses/{response_id}?stream=true")
    assert_event_stream(whole)
    for after, (later, _) in zip((2, 3, 4, 5), readers, strict=True):
        assert later == whole[after + 1 :]
    assert backend.left.is_set() is False


async def test_the_sdk_takes_a_stream_up_again(
    stateful: RunningServer, backend: ReplayBackend
) -> None:
    go = asyncio.Event()
    backend.script = retained(go, " upon", " a", " time")
    stream = await stateful.sdk.responses.create(**BODY, stream=True)
    created = await anext(aiter(stream))
    async for event in stream:
        if event.type == "response.output_text.delta":
            last = event.sequence_number
            break
    await stream.close()
    go.set()
    async with stateful.sdk.responses.stream(
        response_id=created.response.id, starting_after=last
    ) as again:
        numbers = [one.sequence_number async for one in again]
        final = await again.get_final_response()

    assert numbers == list(range(last + 1, last + 1 + len(numbers)))
    assert final.output_text == "Once upon a time"


@pytest.mark.wide("postgres")
async def test_cancelling_ends_it_and_the_backends_call(
    stateful: RunningServer, backend: ReplayBackend
) -> None:
    backend.script = retained(asyncio.Event())
    created = await stateful.sdk.responses.create(**BODY)
    await reaches(stateful, created.id, "in_progress")
    await until(lambda: backend.requests)
    cancelled = await stateful.sdk.responses.cancel(created.id)
    assert (cancelled.status, cancelled.usage) == ("cancelled", None)
    await asyncio.wait_for(backend.left.wait(), 30)
    again = await stateful.sdk.responses.cancel(created.id)

    assert again == cancelled
    assert (await stateful.sdk.responses.retrieve(created.id)).status == "cancelled"
    await stateful.sdk.responses.delete(created.id)


async def test_a_stream_that_is_cancelled_comes_to_its_end(
    stateful: RunningServer, backend: ReplayBackend
) -> None:
    backend.script = retained(asyncio.Event())
    async with stateful.http.post(
        f"{stateful.url}/responses", json=BODY | {"stream": True}
    ) as response:
        seen = await response.content.readuntil(b'"delta":"Once"')
        response_id = json.loads(seen.split(b"data: ")[1].split(b"\n")[0])["response"]["id"]
        await stateful.sdk.responses.cancel(response_id)
        rest = await asyncio.wait_for(response.read(), 30)

    last = json.loads(rest.rpartition(b"data: ")[2])
    assert (last["type"], last["response"]["status"]) == ("response.incomplete", "cancelled")
    whole, body = await events(stateful, f"/responses/{response_id}?stream=true")
    assert body == seen + rest
    assert whole[-1] == last


async def test_one_that_waits_in_the_queue_can_be_cancelled(
    stateful: RunningServer, backend: ReplayBackend
) -> None:
    await stateful.application.drain()
    stateful.parts.process.accepts_work = True
    created = await stateful.sdk.responses.create(**BODY)

    assert (await stateful.sdk.responses.cancel(created.id)).status == "cancelled"
    assert backend.requests == []


@pytest.mark.wide("postgres")
async def test_one_that_has_ended_is_cancelled_to_no_effect(
    stateful: RunningServer, backend: ReplayBackend
) -> None:
    backend.script = lambda request: Answer([text("Hi")])
    created = await stateful.sdk.responses.create(**BODY)
    done = await reaches(stateful, created.id, "completed")

    assert (await stateful.sdk.responses.cancel(created.id)).status == "completed"
    assert (await stateful.get(f"/responses/{created.id}"))[1] == done


@pytest.mark.wide
async def test_cancelling_and_ending_at_once_has_one_end(
    stateful: RunningServer, backend: ReplayBackend
) -> None:
    """Hundreds of races on each store: who is first wins, and everybody is told the same."""
    ends: list[str] = []

    async def race(number: int) -> None:
        created = await stateful.sdk.responses.create(
            **{**BODY, "input": f"{number}"}, stream=number % 4 == 0
        )  # type: ignore[call-overload]
        if number % 4 == 0:
            first = await anext(aiter(created))
            await created.close()
            response_id = first.response.id
        else:
            response_id = created.id
        if number % 10 == 9:  # however busy the machine is, some are too late
            await reaches(stateful, response_id, "completed")
        await let_others_run(number % 10 * 30)
        body = (await stateful.post(f"/responses/{response_id}/cancel"))[1]
        ended = await reaches(
            stateful, response_id, "completed", "cancelled", "failed", "incomplete"
        )
        assert ended["status"] == body["status"]
        assert (await stateful.post(f"/responses/{response_id}/cancel"))[1]["status"] == body[
            "status"
        ]
        if number % 4 == 0:
            log, _ = await events(stateful, f"/responses/{response_id}?stream=true")
            assert log[-1]["response"]["status"] == body["status"]
            assert [e["sequence_number"] for e in log] == list(range(len(log)))
        ends.append(str(body["status"]))

    backend.script = lambda request: Answer([text("Hi")])
    for start in range(0, RACES, 20):
        await asyncio.gather(*(race(number) for number in range(start, start + 20)))

    assert len(ends) == RACES
    assert set(ends) == {"completed", "cancelled"}


@pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"])
async def test_one_that_is_not_stored_can_be_polled_and_not_referred_to(
    stateful: RunningServer, stream: bool
) -> None:
    body = BODY | {"store": False, "stream": stream}
    if stream:
        async with stateful.http.post(f"{stateful.url}/responses", json=body) as response:
            created = json.loads((await response.read()).split(b"data: ")[1].split(b"\n")[0])[
                "response"
            ]
    else:
        _, created = await stateful.post("/responses", json=body)
    done = await reaches(stateful, created["id"], "completed")
    status, reply = await stateful.post(
        "/responses", json={"model": "m", "previous_response_id": created["id"]}
    )
    reference = {"type": "item_reference", "id": done["output"][0]["id"]}
    unknown, _ = await stateful.post("/responses", json={"model": "m", "input": [reference]})

    assert done["store"] is False
    assert (status, reply["error"]["code"]) == (400, "previous_response_not_found")  # type: ignore[index]
    assert unknown == 404


async def test_one_that_is_not_stored_is_forgotten_ten_minutes_after_its_end(
    stateful: RunningServer,
) -> None:
    _, created = await stateful.post("/responses", json=BODY | {"store": False})
    await reaches(stateful, str(created["id"]), "completed")
    stored = await stateful.parts.store.read(responses.load, "", str(created["id"]))
    assert stored is not None
    assert stored.expires_at is not None
    assert 590 < stored.expires_at - int(stateful.parts.run.now()) <= 600


async def test_a_model_that_fails_makes_a_failed_response(
    stateful: RunningServer, backend: ReplayBackend
) -> None:
    backend.script = lambda request: Answer([b'{"error": {"message": "boom"}}'], status=500)
    created = await stateful.sdk.responses.create(**BODY)
    failed = await reaches(stateful, created.id, "failed")

    assert failed["error"]["code"] == "server_error"
    stream = await stateful.sdk.responses.create(**BODY, stream=True)
    with pytest.raises(openai.APIError):
        async for _ in stream:
            pass


async def test_one_that_runs_is_not_deleted(
    stateful: RunningServer, backend: ReplayBackend
) -> None:
    backend.script = retained(asyncio.Event())
    created = await stateful.sdk.responses.create(**BODY)
    with pytest.raises(openai.BadRequestError, match="Cannot delete an in-flight response"):
        await stateful.sdk.responses.delete(created.id)
    await stateful.sdk.responses.cancel(created.id)


@pytest.mark.parametrize("after", ["-1", "abc", "1" + "0" * 30, "1.5", ""])
async def test_an_invalid_number_is_rejected(server: RunningServer, after: str) -> None:
    status, reply = await server.get(f"/responses/resp_x?stream=true&starting_after={after}")

    assert (status, reply["error"]["code"], reply["error"]["param"]) == (
        400,
        "invalid_value",
        "starting_after",
    )  # type: ignore[index]


async def test_what_has_no_log_is_not_streamed(server: RunningServer) -> None:
    _, plain = await server.post("/responses", json={"model": "m", "input": "x"})
    _, background = await server.post("/responses", json=BODY)
    for created, reason in ((plain, "background=true"), (background, "stream=true")):
        status, reply = await server.get(f"/responses/{created['id']}?stream=true")
        error: Any = reply["error"]
        assert (status, error["param"]) == (400, "stream")
        assert error["message"].endswith(f"was not created with {reason}.")
    status, reply = await server.post(f"/responses/{plain['id']}/cancel")
    assert (status, reply["error"]["code"]) == (400, None)  # type: ignore[index]
    assert (await server.post("/responses/resp_none/cancel"))[0] == 404
    assert (await server.get("/responses/resp_none?stream=true"))[0] == 404


async def test_what_can_be_refused_is_refused_before_it_is_queued(server: RunningServer) -> None:
    for wrong, status in (({"model": "unknown"}, 400), ({"previous_response_id": "resp_x"}, 400)):
        assert (await server.post("/responses", json=BODY | wrong))[0] == status
    assert (await server.parts.store.inspect())["jobs"] == 0


async def test_no_more_of_a_tenant_wait_than_may(
    stateful: RunningServer, backend: ReplayBackend
) -> None:
    await stateful.application.drain()  # what is queued waits
    stateful.parts.process.accepts_work = True
    stateful.parts.jobs.queue_per_tenant = 3
    outcomes = await asyncio.gather(*(stateful.post("/responses", json=BODY) for _ in range(10)))
    refused = [body["error"] for status, body in outcomes if status == 429]
    assert sorted(status for status, _ in outcomes) == [200] * 3 + [429] * 7
    assert {error["code"] for error in refused} == {"background_queue_full"}  # type: ignore[index]
    assert (await stateful.parts.store.read(jobs.backlog)).jobs == 3
    assert (await stateful.parts.store.inspect())["responses"] == 3
    assert backend.requests == []

    queued = next(str(body["id"]) for status, body in outcomes if status == 200)
    await stateful.post(f"/responses/{queued}/cancel")
    assert (await stateful.post("/responses", json=BODY))[0] == 200


async def test_a_turn_that_failed_adds_nothing_to_its_conversation(
    stateful: RunningServer, backend: ReplayBackend
) -> None:
    backend.script = lambda request: Answer([b'{"error": {"message": "No."}}'], status=400)
    _, conversation = await stateful.post("/conversations", json={})
    created = await stateful.sdk.responses.create(**BODY, conversation=str(conversation["id"]))
    assert (await reaches(stateful, created.id, "failed"))["error"]["message"] == "No."
    _, page = await stateful.get(f"/conversations/{conversation['id']}/items")
    assert page["data"] == []

    backend.script = lambda request: Answer([text("Hello")])
    created = await stateful.sdk.responses.create(**BODY, conversation=str(conversation["id"]))
    await reaches(stateful, created.id, "completed")
    _, page = await stateful.get(f"/conversations/{conversation['id']}/items")
    assert [item["type"] for item in page["data"]] == ["message", "message"]  # type: ignore[union-attr, index]
