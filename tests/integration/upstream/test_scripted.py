import asyncio
import json
from time import monotonic

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.errors import BackendError, ClientError
from antiphon.upstream.scripted import ScriptedBackend
from tests.support.waiting import let_others_run

CHAT = "/chat/completions"
COMPLETION = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "created": 7,
    "model": "m",
    "choices": [
        {
            "index": 0,
            "message": {"role": "assistant", "content": "Hello", "reasoning_content": "Hm."},
            "finish_reason": "stop",
        }
    ],
    "usage": {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3},
}


def chunk(finish_reason=None, **delta):
    return {
        "id": "chatcmpl-1",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish_reason}],
    }


async def send_request(backend, **request):
    return await backend.post(CHAT, json.dumps(request).encode())


async def plain(backend, **request):
    return json.loads(await (await send_request(backend, **request)).read())


async def streamed(backend, **request):
    reply = await send_request(backend, stream=True, **request)
    assert reply.content_type == "text/event-stream"
    events = (await reply.read()).decode().removesuffix("\n\n").split("\n\n")
    assert events.pop() == "data: [DONE]"
    return [json.loads(event.removeprefix("data: ")) for event in events]


async def test_a_function_answers_each_request():
    backend = ScriptedBackend(lambda request: {**COMPLETION, "model": request["model"]})

    assert (await plain(backend, model="x"))["model"] == "x"
    assert (await plain(backend, model="y"))["model"] == "y"


async def test_scripted_answers_are_returned_in_order_and_then_run_out():
    backend = ScriptedBackend([{"n": 1}, {"n": 2}])

    assert [await plain(backend), await plain(backend)] == [{"n": 1}, {"n": 2}]
    with pytest.raises(BackendError, match="The script has 2 answers"):
        await send_request(backend)


async def test_the_requests_are_remembered():
    backend = ScriptedBackend([COMPLETION, COMPLETION])

    await send_request(backend, model="m", stream=True)
    await send_request(backend, model="n")

    assert backend.requests == [{"model": "m", "stream": True}, {"model": "n"}]


async def test_bytes_are_sent_unchanged_whatever_was_requested():
    raw = b": hello\n\ndata: {broken\n\n"

    for request in ({"stream": True}, {}):
        reply = await send_request(ScriptedBackend([raw]), **request)
        assert (await reply.read(), reply.content_type, reply.status) == (
            raw,
            "text/event-stream",
            200,
        )


async def test_bytes_of_json_are_called_json():
    reply = await send_request(ScriptedBackend([b' {"choices": []}']))

    assert reply.content_type == "application/json"


async def test_a_plain_request_gets_a_completion_as_it_is():
    assert await plain(ScriptedBackend([COMPLETION])) == COMPLETION


async def test_a_streamed_request_gets_a_completion_as_chunks():
    chunks = await streamed(ScriptedBackend([COMPLETION]))

    assert [one["choices"][0]["delta"] for one in chunks] == [
        {"role": "assistant"},
        {"content": "Hello"},
        {"reasoning_content": "Hm."},
        {},
    ]
    assert {(one["object"], one["id"]) for one in chunks} == {
        ("chat.completion.chunk", "chatcmpl-1")
    }
    assert [one["choices"][0]["finish_reason"] for one in chunks] == [None, None, None, "stop"]


async def test_a_stream_has_usage_if_requested():
    chunks = await streamed(ScriptedBackend([COMPLETION]), stream_options={"include_usage": True})

    assert (chunks[-1]["choices"], chunks[-1]["usage"]) == ([], COMPLETION["usage"])


async def test_a_streamed_request_gets_chunks_as_they_are():
    chunks = [chunk(content="a"), chunk("stop"), {"odd": None}]

    assert await streamed(ScriptedBackend([chunks])) == chunks


async def test_a_plain_request_gets_chunks_as_a_completion():
    call = {"index": 0, "id": "c", "type": "function", "function": {"name": "f", "arguments": ""}}
    more = {"index": 0, "function": {"arguments": "{}"}}
    chunks = [
        chunk(role="assistant", content=None),
        chunk(reasoning_content="Hm"),
        chunk(reasoning_content="."),
        chunk(tool_calls=[call]),
        chunk(tool_calls=[more]),
        chunk("tool_calls"),
        {"choices": [], "usage": {"total_tokens": 3}},
    ]

    completion = await plain(ScriptedBackend([chunks]))

    assert completion == {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "choices": [
            {
                "index": 0,
                "message": {
                    "role": "assistant",
                    "content": None,
                    "refusal": None,
                    "reasoning_content": "Hm.",
                    "tool_calls": [
                        {
                            "id": "c",
                            "type": "function",
                            "function": {"name": "f", "arguments": "{}"},
                        }
                    ],
                },
                "logprobs": None,
                "finish_reason": "tool_calls",
            }
        ],
        "usage": {"total_tokens": 3},
    }


TEXT = st.text(min_size=1)
CALL = st.builds(
    lambda call_id, name, arguments: {
        "id": call_id,
        "type": "function",
        "function": {"name": name, "arguments": arguments},
    },
    *(TEXT, TEXT, TEXT),
)
MESSAGE = st.fixed_dictionaries(
    {"role": st.just("assistant"), "content": st.none() | TEXT, "refusal": st.none() | TEXT},
    optional={"reasoning_content": TEXT, "tool_calls": st.lists(CALL, min_size=1)},
)
LOGPROB = st.builds(
    lambda token: {"token": token, "logprob": -0.5, "bytes": [1], "top_logprobs": []}, TEXT
)


@pytest.mark.wide
@given(st.lists(MESSAGE, min_size=1, max_size=3), st.lists(LOGPROB, min_size=1))
async def test_a_completion_that_goes_through_chunks_is_the_same(messages, logprobs):
    choices = [
        {
            "index": index,
            "message": message,
            "logprobs": {"content": logprobs} if message["content"] else None,
            "finish_reason": "stop",
        }
        for index, message in enumerate(messages)
    ]
    completion = {**COMPLETION, "choices": choices}

    chunks = await streamed(ScriptedBackend([completion]), stream_options={"include_usage": True})

    assert await plain(ScriptedBackend([chunks])) == completion


async def test_a_pair_is_a_status_and_its_body():
    backend = ScriptedBackend(
        [(429, {"error": {"message": "Slow down."}}), (502, "<html>"), (500, "Oops")]
    )

    replies = [await send_request(backend, stream=True) for _ in range(3)]

    assert [reply.status for reply in replies] == [429, 502, 500]
    assert [reply.content_type for reply in replies] == [
        "application/json",
        "text/html",
        "text/plain",
    ]
    assert [await reply.read() for reply in replies] == [
        b'{"error": {"message": "Slow down."}}',
        b"<html>",
        b"Oops",
    ]


async def test_an_error_instead_of_an_answer_is_a_backend_that_cannot_be_reached():
    with pytest.raises(BackendError, match="Nobody there"):
        await send_request(ScriptedBackend([BackendError("Nobody there.", status=503)]))


async def test_an_error_among_the_parts_breaks_the_answer_there():
    reply = await send_request(
        ScriptedBackend([[chunk(content="a"), BackendError("Cut.")]]), stream=True
    )

    assert json.loads((await anext(reply.body)).removeprefix(b"data: ")) == chunk(content="a")
    with pytest.raises(BackendError, match="Cut"):
        await anext(reply.body)


async def test_nothing_follows_raw_parts():
    reply = await send_request(ScriptedBackend([[chunk(content="a"), b"data: [DO"]]), stream=True)

    assert (await reply.read()).endswith(b"}\n\ndata: [DO")


async def test_the_bytes_arrive_in_the_requested_cuts():
    whole = await (await send_request(ScriptedBackend([COMPLETION]), stream=True)).read()
    reply = await send_request(ScriptedBackend([COMPLETION], cut=1), stream=True)

    parts = [part async for part in reply.body]

    assert parts == [whole[place : place + 1] for place in range(len(whole))]


async def test_others_have_their_turn_between_the_parts():
    turns = []

    async def other():
        while len(turns) < 100:
            turns.append(None)
            await let_others_run()

    task = asyncio.create_task(other())
    reply = await send_request(ScriptedBackend([[chunk(content="a")] * 20]), stream=True)
    await reply.read()
    assert len(turns) >= 20
    await task


async def test_the_parts_arrive_as_slowly_as_requested():
    reply = await send_request(ScriptedBackend([[chunk(content="a")] * 3], delay=0.01), stream=True)
    began = monotonic()

    await reply.read()

    assert monotonic() - began >= 0.03


async def test_a_reply_can_be_closed_early_and_twice():
    reply = await send_request(ScriptedBackend([COMPLETION]), stream=True)
    await anext(reply.body)

    await reply.close()
    await reply.close()

    assert [part async for part in reply.body] == []


async def test_a_script_refuses_by_raising():
    def script(request):
        raise ClientError("No.", code="c", param="p")

    reply = await send_request(ScriptedBackend(script))

    assert reply.status == 400
    assert json.loads(await reply.read())["error"] == {
        "message": "No.",
        "type": "invalid_request_error",
        "param": "p",
        "code": "c",
    }


async def test_a_body_that_is_no_json_object_is_refused_and_not_remembered():
    backend = ScriptedBackend([COMPLETION])

    assert [(await backend.post(CHAT, body)).status for body in (b"nope", b"[]")] == [400, 400]
    assert backend.requests == []


async def test_the_models_are_listed():
    backend = ScriptedBackend([], models=["a", "b"])

    listing = await backend.list_models()

    assert [(model["id"], model["owned_by"]) for model in listing.models] == [
        ("a", "antiphon"),
        ("b", "antiphon"),
    ]
