import asyncio
import json

import pytest
from openai import APIError, BadRequestError, NotFoundError
from pydantic import BaseModel

from antiphon.testing import check_event_stream
from antiphon.upstream.http import HttpBackend
from tests.support.replay import JSON, Answer, ReplayBackend, completion, delta, sse, text
from tests.support.server import RunningServer, serve
from tests.support.waiting import eventually, until


async def events_of(server: RunningServer, **body: object) -> list[dict]:
    async with server.http.post(
        f"{server.url}/responses", json={"model": "m", "stream": True, **body}
    ) as response:
        assert response.status == 200, await response.text()
        return parse(await response.read())


def parse(body: bytes) -> list[dict]:
    blocks = [block for block in body.decode().split("\n\n") if block.startswith("event: ")]
    events = [json.loads(block.partition("\ndata: ")[2]) for block in blocks]
    assert [block.split("\n")[0] for block in blocks] == [
        f"event: {event['type']}" for event in events
    ]
    return events


async def test_a_plain_answer_has_every_key_of_the_response_object(server: RunningServer):
    status, response = await server.post("/responses", json={"model": "m", "input": "Hi"})

    assert status == 200
    assert response["status"] == "completed"
    assert response["output_text"] == "You said: Hi"
    assert response["error"] is None and response["incomplete_details"] is None
    sampling = ("temperature", "top_p", "presence_penalty", "frequency_penalty", "top_logprobs")
    assert [response[name] for name in sampling] == [1.0, 1.0, 0.0, 0.0, 0]
    assert response["usage"]["total_tokens"] == 6
    assert response["id"].startswith("resp_") and len(response["id"]) >= 5 + 32


async def test_a_stream_is_sound_and_ends_like_the_plain_and_the_stored_response(
    server: RunningServer,
):
    events = await events_of(server, input="Hi there")

    assert check_event_stream(events) == []
    final = events[-1]["response"]
    _, stored = await server.get(f"/responses/{final['id']}")
    assert stored.pop("output_text") == "You said: Hi there "
    assert stored == final


async def test_plain_and_streamed_give_the_same_output(
    server: RunningServer, backend: ReplayBackend
):
    backend.script = lambda request: (
        Answer([sse(delta(reasoning_content="Hm."), delta(content="Well"), delta("stop"))])
        if request.get("stream")
        else Answer([completion("Well", reasoning_content="Hm.")], JSON)
    )
    _, plain = await server.post("/responses", json={"model": "m", "input": "Hi"})
    streamed = (await events_of(server, input="Hi"))[-1]["response"]

    assert without_ids(plain["output"]) == without_ids(streamed["output"])


def without_ids(items: list[dict]) -> list[dict]:
    return [{name: value for name, value in item.items() if name != "id"} for item in items]


async def test_the_sdk_streams_text_tools_and_parsed_answers(
    server: RunningServer, backend: ReplayBackend
):
    class Place(BaseModel):
        city: str

    backend.script = lambda request: Answer([text('{"city"', ': "Paris"}')])
    async with server.sdk.responses.stream(model="m", input="Where?", text_format=Place) as stream:
        async for _ in stream:
            pass
        final = await stream.get_final_response()
    assert final.output_parsed == Place(city="Paris")

    call = {
        "index": 0,
        "id": "call_1",
        "type": "function",
        "function": {"name": "look", "arguments": ""},
    }
    rest = {"index": 0, "function": {"arguments": '{"at": "sky"}'}}
    backend.script = lambda request: Answer(
        [sse(delta(tool_calls=[call]), delta(tool_calls=[rest]), delta("tool_calls"))]
    )
    tool = {
        "type": "function",
        "name": "look",
        "parameters": {"type": "object", "properties": {}},
        "strict": False,
    }
    async with server.sdk.responses.stream(model="m", input="Look", tools=[tool]) as stream:
        seen = [event.type async for event in stream]
        final = await stream.get_final_response()
    assert "response.function_call_arguments.delta" in seen
    assert final.output[0].arguments == '{"at": "sky"}'


async def test_the_sdk_parses_a_plain_answer(server: RunningServer, backend: ReplayBackend):
    class Place(BaseModel):
        city: str

    backend.script = lambda request: Answer([completion('{"city": "Rome"}')], JSON)
    response = await server.sdk.responses.parse(model="m", input="Where?", text_format=Place)

    assert response.output_parsed == Place(city="Rome")
    assert backend.requests[-1]["response_format"]["type"] == "json_schema"


async def test_a_chain_of_five_gives_the_model_the_whole_history_in_order(
    server: RunningServer, backend: ReplayBackend
):
    previous = None
    for turn in range(5):
        response = await server.sdk.responses.create(
            model="m",
            input=f"turn {turn}",
            instructions=f"rule {turn}",
            previous_response_id=previous,
        )
        previous = response.id

    messages = backend.requests[-1]["messages"]
    assert messages[0] == {"role": "system", "content": "rule 4"}
    assert [message["content"] for message in messages[1:]] == [
        words for turn in range(4) for words in (f"turn {turn}", f"You said: turn {turn}")
    ] + ["turn 4"]


async def test_a_chain_can_go_on_at_once_after_the_terminal_event(server: RunningServer):
    for _ in range(20):
        first = (await events_of(server, input="Hi"))[-1]["response"]
        status, second = await server.post(
            "/responses", json={"model": "m", "input": "And?", "previous_response_id": first["id"]}
        )
        assert status == 200 and second["previous_response_id"] == first["id"]


@pytest.mark.wide
async def test_input_items_are_listed_newest_first_in_pages(server: RunningServer):
    first = await server.sdk.responses.create(model="m", input="one")
    second = await server.sdk.responses.create(
        model="m", input="two", previous_response_id=first.id
    )

    newest = await server.sdk.responses.input_items.list(second.id, limit=2)
    everything = [
        item
        async for item in server.sdk.responses.input_items.list(second.id, limit=1, order="asc")
    ]

    assert [item.content[0].text for item in newest.data] == ["two", "You said: one"]
    assert newest.has_more
    assert [item.role for item in everything] == ["user", "assistant", "user"]


async def test_a_deleted_response_is_not_found_and_breaks_its_chain(server: RunningServer):
    first = await server.sdk.responses.create(model="m", input="one")
    await server.sdk.responses.delete(first.id)

    with pytest.raises(NotFoundError, match=f"Response with id '{first.id}' not found"):
        await server.sdk.responses.retrieve(first.id)
    with pytest.raises(BadRequestError) as caught:
        await server.sdk.responses.create(model="m", input="two", previous_response_id=first.id)
    assert caught.value.code == "previous_response_not_found"


async def test_store_false_leaves_nothing_behind(server: RunningServer):
    response = await server.sdk.responses.create(model="m", input="secret", store=False)

    with pytest.raises(NotFoundError):
        await server.sdk.responses.retrieve(response.id)


async def test_the_model_running_out_of_tokens_makes_the_response_and_its_item_incomplete(
    server: RunningServer, backend: ReplayBackend
):
    backend.script = lambda request: Answer([sse(delta(content="Once upon"), delta("length"))])
    events = await events_of(server, input="Tell", max_output_tokens=16)

    assert events[-1]["type"] == "response.incomplete"
    assert events[-1]["response"]["incomplete_details"] == {"reason": "max_output_tokens"}
    assert events[-1]["response"]["output"][0]["status"] == "incomplete"
    assert backend.requests[-1]["max_tokens"] == 16


@pytest.mark.parametrize(
    "answer",
    [
        Answer([sse(delta(content="Once"), done=False)]),
        Answer([sse(delta(content="Once"), done=False)], cut=True),
        Answer([sse(delta(content="Once"), done=False), b'data: {"choices": [}\n\n']),
        Answer(
            [sse(delta(content="Once"), {"error": {"message": "boom", "code": 500}}, done=False)]
        ),
    ],
    ids=["ends without a reason", "breaks off", "is malformed", "holds an error"],
)
async def test_an_answer_that_fails_in_its_middle_ends_the_stream_with_an_error(
    server: RunningServer, backend: ReplayBackend, answer: Answer
):
    backend.script = lambda request: answer
    events = await events_of(server, input="Tell")

    assert check_event_stream(events) == []
    assert [event["type"] for event in events[-2:]] == ["error", "response.failed"]
    assert events[-2]["error"]["code"] == events[-2]["code"] == "server_error"
    assert events[-1]["response"]["output"][0]["content"][0]["text"] == "Once"
    _, stored = await server.get(f"/responses/{events[-1]['response']['id']}")
    assert stored["status"] == "failed"


async def test_the_sdk_raises_what_failed_in_mid_stream(
    server: RunningServer, backend: ReplayBackend
):
    backend.script = lambda request: Answer([sse({"error": {"message": "boom"}}, done=False)])

    with pytest.raises(APIError, match="boom"):
        async for _ in await server.sdk.responses.create(model="m", input="Hi", stream=True):
            pass


async def test_a_client_that_leaves_ends_the_backends_call_and_leaves_a_cancelled_response(
    server: RunningServer, backend: ReplayBackend
):
    backend.script = lambda request: Answer(
        [sse(delta(content="Once"), done=False)], wait=asyncio.Event()
    )
    response = await server.http.post(
        f"{server.url}/responses", json={"model": "m", "input": "Hi", "stream": True}
    )
    first = parse(await response.content.readuntil(b"\n\n"))[0]
    while b"output_text.delta" not in await response.content.readuntil(b"\n\n"):
        pass
    response.close()

    await asyncio.wait_for(backend.left.wait(), 30)

    await eventually(
        lambda: server.get(f"/responses/{first['response']['id']}"), lambda one: one[0] == 200
    )
    _, stored = await server.get(f"/responses/{first['response']['id']}")
    assert stored["status"] == "cancelled"
    assert (stored["output"][0]["status"], stored["output_text"]) == ("incomplete", "Once")


async def test_a_client_that_leaves_a_plain_request_ends_the_backends_call(
    server: RunningServer, backend: ReplayBackend
):
    backend.script = lambda request: Answer([b" "], JSON, wait=asyncio.Event())
    pending = asyncio.create_task(server.post("/responses", json={"model": "m", "input": "Hi"}))
    await until(lambda: backend.requests)
    pending.cancel()

    await asyncio.wait_for(backend.left.wait(), 30)


async def test_where_websockets_are_off_an_upgrade_is_answered_with_426(backend: ReplayBackend):
    headers = {"connection": "upgrade", "upgrade": "websocket", "sec-websocket-version": "13"}
    async with (
        serve(HttpBackend("replay", backend.url, "k"), has_websocket=False) as server,
        server.http.get(f"{server.url}/responses", headers=headers) as response,
    ):
        assert response.status == 426


async def test_a_wrong_method_is_answered_with_the_methods_of_the_path(server: RunningServer):
    async with server.http.put(f"{server.url}/responses") as response:
        assert (response.status, response.headers["allow"]) == (405, "POST, GET, HEAD")
