"""What every call takes and raises: `extra_headers`, `timeout`, and errors by their status."""

import asyncio
import json
import logging
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from antiphon import (
    Antiphon,
    APITimeoutError,
    AsyncAntiphon,
    BackendError,
    BadRequestError,
    NotFoundError,
    RateLimitError,
    ScriptedBackend,
    types,
)
from antiphon.library import in_process
from antiphon.server import exchange
from antiphon.telemetry.context import about
from antiphon.upstream.backend import Reply
from tests.support.waiting import PATIENCE

ANSWER = {
    "choices": [
        {
            "index": 0,
            "message": {"role": "assistant", "content": "At noon."},
            "finish_reason": "stop",
        }
    ]
}
ONCE = {"Idempotency-Key": "once"}


class Silent(ScriptedBackend):
    """A backend that never answers."""

    async def post(self, path: str, body: bytes) -> Reply:
        self.requests.append({})
        await asyncio.Event().wait()
        raise AssertionError


class Forwarding(ScriptedBackend):
    """A backend with embeddings and images, which come as a stream if `images` is one."""

    images = b""

    def read(self, path: str, body: bytes) -> dict[str, Any]:
        return {} if path == "/images/edits" else super().read(path, body)  # a form

    def answer(self, path: str, request: dict[str, Any]) -> Any:
        if path == "/embeddings":
            data = [{"object": "embedding", "index": 0, "embedding": [0.5, 1.0]}]
            return {"object": "list", "data": data, "model": "m", "own": 1}
        if path.startswith("/images/"):
            return self.images or {"created": 7, "data": [{"b64_json": "AAAA"}], "size": "1x1"}
        return super().answer(path, request)


def test_an_idempotency_key_in_extra_headers_answers_a_retry_with_the_first_response() -> None:
    backend = ScriptedBackend([ANSWER], models=["m"])
    with Antiphon(backend=backend) as client:
        first = client.responses.create(model="m", input="Hi", extra_headers=ONCE)
        again = client.responses.create(model="m", input="Hi", extra_headers=ONCE)
    assert (again.id, again.output_text, len(backend.requests)) == (first.id, "At noon.", 1)


def test_a_stream_with_extra_headers_has_the_same_events(client: Antiphon) -> None:
    plain = [event.type for event in client.responses.create(model="demo", input="Hi", stream=True)]
    with client.responses.stream(
        model="demo", input="Hi", extra_headers={"antiphon-cache": "off"}
    ) as stream:
        headed = [event.type for event in stream]
        final = stream.get_final_response()
    assert headed == plain
    assert isinstance(final.output[-1], types.Message)


def test_a_large_event_arrives_whole() -> None:
    text = "tide " * 40_000
    message = {"role": "assistant", "content": text}
    backend = ScriptedBackend(
        [{"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}], models=["m"]
    )
    with (
        Antiphon(backend=backend) as client,
        client.responses.stream(
            model="m", input="Hi", extra_headers={"antiphon-cache": "off"}
        ) as stream,
    ):
        assert stream.get_final_response().output_text == text


def test_every_existing_method_takes_headers(client: Antiphon) -> None:
    headers = {"X-Client-Request-Id": "1"}
    response = client.responses.create(model="demo", input="Hi", extra_headers=headers)
    assert client.responses.retrieve(
        response.id, extra_headers=headers
    ) == client.responses.retrieve(response.id)
    listed = client.responses.input_items.list(response.id, extra_headers=headers)
    assert listed.data == client.responses.input_items.list(response.id).data
    counted = client.responses.input_tokens.count(model="demo", input="Hi", extra_headers=headers)
    assert counted == client.responses.input_tokens.count(model="demo", input="Hi")
    assert client.models.list(extra_headers=headers) == client.models.list()
    assert client.models.retrieve("demo", extra_headers=headers) == client.models.retrieve("demo")
    conversation = client.conversations.create(metadata={"a": "b"}, extra_headers=headers)
    assert client.conversations.retrieve(conversation.id, extra_headers=headers) == conversation
    items = [{"role": "user", "content": "Hi"}]
    added = client.conversations.items.create(conversation.id, items=items, extra_headers=headers)
    assert isinstance(added.data[0], types.Message) and added.data[0].id
    item = client.conversations.items.retrieve(
        added.data[0].id, conversation_id=conversation.id, extra_headers=headers
    )
    assert item == added.data[0]
    assert client.responses.delete(response.id, extra_headers=headers).deleted


def test_an_error_is_of_the_class_of_its_status_and_names_its_request(client: Antiphon) -> None:
    with pytest.raises(NotFoundError) as direct:
        client.responses.retrieve("resp_none")
    with pytest.raises(NotFoundError) as headed:
        client.responses.retrieve("resp_none", extra_headers=ONCE)
    with pytest.raises(BadRequestError) as wrong:
        client.responses.create(model="demo", input="Hi", temperature=9)
    errors = [direct.value, headed.value, wrong.value]
    assert [error.status_code for error in errors] == [404, 404, 400]
    assert wrong.value.param == "temperature"
    assert len({error.request_id for error in errors if error.request_id}) == 3


def test_a_refusal_of_the_backend_for_its_rate_is_a_rate_limit_error() -> None:
    refusal: Any = (
        429,
        {"error": {"message": "Slow down.", "type": "requests", "code": "rate_limit_exceeded"}},
    )
    with (
        Antiphon(backend=ScriptedBackend(lambda _: refusal, models=["m"])) as client,
        pytest.raises(RateLimitError),
    ):
        client.responses.create(model="m", input="Hi")


def test_the_log_names_the_request_of_a_call(
    client: Antiphon, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "antiphon.access")
    found = []
    caplog.handler.addFilter(lambda record: found.append(about().request_id) or True)
    client.responses.create(model="demo", input="Hi")
    client.responses.create(model="demo", input="Hi")
    assert len(set(found)) == 2
    assert all(name.startswith("req_") for name in found)


async def test_a_call_ends_at_its_timeout_and_the_model_with_it() -> None:
    async with AsyncAntiphon(backend=Silent([], models=["m"])) as client:
        with pytest.raises(APITimeoutError):
            await client.responses.create(model="m", input="Hi", timeout=0.01)
        with pytest.raises(APITimeoutError):
            await client.responses.create(model="m", input="Hi", timeout=0.01, extra_headers=ONCE)
        stream = client.responses.stream(model="m", input="Hi", timeout=0.01)
        with pytest.raises(APITimeoutError):
            await stream.get_final_response()


async def test_a_silent_stream_times_out_although_the_connection_stays_open(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(exchange, "GRACE", exchange.LATE)
    monkeypatch.setattr(exchange, "COMMENT_AFTER", 0.0)
    for keepalive_after in (0.0, 100.0):  # events, and then comments
        monkeypatch.setattr(exchange, "KEEPALIVE_AFTER", keepalive_after)
        async with AsyncAntiphon(backend=Silent([], models=["m"])) as client:
            headers = {"X-Client-Request-Id": "1"}
            stream = client.responses.stream(
                model="m", input="Hi", timeout=0.25, extra_headers=headers
            )
            async with asyncio.timeout(PATIENCE):
                with pytest.raises(APITimeoutError):
                    await stream.get_final_response()


async def test_no_more_of_a_file_is_sent_once_its_caller_has_left() -> None:
    begun = asyncio.Event()
    go_on = asyncio.Event()
    received = list[Any]()

    async def pieces() -> AsyncGenerator[bytes, None]:
        yield b"1"
        begun.set()
        await go_on.wait()
        yield b"2"
        yield b"3"

    async def application(scope: Any, receive: Any, send: Any) -> None:
        while (message := await receive()).get("more_body"):
            received.append(message["body"])
        received.append(message["type"])

    call = in_process.InProcessExchange(
        application, in_process.InProcessRequest("POST", "/v1/files", b"", [], pieces()), None
    )
    await begun.wait()
    call.leave()
    go_on.set()
    await call.task
    assert received == [b"1", b"2", "http.disconnect"]


async def test_a_file_and_a_prompt_take_a_timeout_too(coroutines: AsyncAntiphon) -> None:
    prompt = await coroutines.prompts.create(instructions="Guide through {{city}}.", timeout=30)
    assert (await coroutines.prompts.retrieve(prompt.id, version=1, timeout=30)).variables == [
        "city"
    ]
    with pytest.raises(APITimeoutError):
        await coroutines.files.create(file=b"x", purpose="user_data", timeout=1e-9)


def test_a_prompt_has_versions(client: Antiphon) -> None:
    prompt = client.prompts.create(name="guide", instructions="One.")
    second = client.prompts.create_version(prompt.id, instructions="Two.", set_as_default=False)

    assert (second.version, second.is_default, client.prompts.retrieve(prompt.id).instructions) == (
        2,
        False,
        "One.",
    )
    assert client.prompts.set_default_version(prompt.id, version=2).is_default
    assert [one.version for one in client.prompts.list_versions(prompt.id, limit=1)] == [2, 1]
    assert [one.id for one in client.prompts.list()] == [prompt.id]
    assert client.prompts.delete(prompt.id).deleted


def test_embeddings_and_images_come_from_the_backend_with_all_that_it_sent() -> None:
    backend = Forwarding([], models=["m"])
    with Antiphon(backend=backend) as client:
        created = client.embeddings.create(model="m", input="tide", extra_body={"truncate": True})
        images = client.images.generate(model="m", prompt="A tide.")
    assert created.data[0].embedding == [0.5, 1.0]
    assert created.to_dict()["own"] == 1
    assert backend.requests[0]["truncate"] is True
    assert images.data == [types.Image(b64_json="AAAA")]
    assert (images.created, images.size) == (7, "1x1")


def streamed(*events: dict[str, Any]) -> bytes:
    return (
        b"".join(b"data: %s\n\n" % json.dumps(event).encode() for event in events)
        + b"data: [DONE]\n\n"
    )


@pytest.mark.parametrize("kind", ["image_generation", "image_edit"])
def test_images_arrive_as_a_stream_of_the_events_of_the_sdk(kind: str) -> None:
    partial = {"type": f"{kind}.partial_image", "b64_json": "AA==", "partial_image_index": 0}
    done = {"type": f"{kind}.completed", "b64_json": "AAAA", "usage": {"total_tokens": 3}, "own": 1}
    backend = Forwarding([], models=["m"])
    backend.images = streamed(partial, done, {"type": "newer", "x": 1})
    stream: Any
    with Antiphon(backend=backend) as client:
        if kind == "image_edit":
            stream = client.images.edit(
                model="m", prompt="Bluer.", image=b"x", stream=True, partial_images=1
            )
        else:
            stream = client.images.generate(
                model="m", prompt="A tide.", stream=True, partial_images=1
            )
        with stream:
            first, last, other = stream
    word = "Gen" if kind == "image_generation" else "Edit"
    assert [type(one).__name__ for one in (first, last)] == [
        f"Image{word}PartialImageEvent",
        f"Image{word}CompletedEvent",
    ]
    assert (first.to_dict(), last.to_dict(), other.to_dict()) == (
        partial,
        done,
        {"type": "newer", "x": 1},
    )
    assert last.usage == {"total_tokens": 3}


async def test_a_stream_of_images_reports_its_end() -> None:
    backend = Forwarding([], models=["m"])
    async with AsyncAntiphon(backend=backend) as client:
        with pytest.raises(BackendError, match="without a stream"):
            await client.images.generate(model="m", prompt="x", stream=True)
        backend.images = streamed(
            {"type": "error", "error": {"message": "Too vivid.", "code": "image_content_policy"}}
        )
        with pytest.raises(BackendError, match=r"Too vivid\.") as refused:
            await client.images.generate(model="m", prompt="x", stream=True)
        partial = {"type": "image_generation.partial_image", "b64_json": "AA=="}
        backend.images = streamed(partial, {"type": "error", "error": {"message": "Too late."}})
        stream = await client.images.generate(model="m", prompt="x", stream=True)
        assert (await anext(stream)).type == "image_generation.partial_image"
        with pytest.raises(BackendError, match=r"Too late\."):
            await anext(stream)
    assert refused.value.code == "image_content_policy"


@pytest.mark.parametrize("pause", [0, -20, float("nan")])
async def test_a_polling_interval_is_positive_and_checked_before_any_request(pause: Any) -> None:
    async with AsyncAntiphon() as client:
        files = client.vector_stores.files
        batches = client.vector_stores.file_batches
        waits: list[Any] = [
            files.create_and_poll("file-1", vector_store_id="vs_1", poll_interval_ms=pause),
            files.upload_and_poll(vector_store_id="vs_1", file=b"x", poll_interval_ms=pause),
            files.poll("file-1", vector_store_id="vs_1", poll_interval_ms=pause),
            batches.create_and_poll("vs_1", file_ids=["file-1"], poll_interval_ms=pause),
            batches.upload_and_poll("vs_1", files=[b"x"], poll_interval_ms=pause),
            batches.poll("vsfb_1", vector_store_id="vs_1", poll_interval_ms=pause),
        ]
        for wait in waits:
            with pytest.raises(ValueError, match="`poll_interval_ms` is"):
                await wait
        assert [file async for file in client.files.list()] == []


def test_the_synchronous_client_checks_the_pause_too(client: Antiphon) -> None:
    wrong: Any = "20"
    with pytest.raises(ValueError, match="`poll_interval_ms` is 0"):
        client.vector_stores.files.poll("file-1", vector_store_id="vs_1", poll_interval_ms=0)
    with pytest.raises(TypeError, match="`poll_interval_ms` is a str"):
        client.vector_stores.files.poll("file-1", vector_store_id="vs_1", poll_interval_ms=wrong)


def test_a_closed_client_stays_closed_for_files_too(client: Antiphon) -> None:
    client.files.create(file=b"x", purpose="user_data")
    client.close()
    with pytest.raises(RuntimeError):
        client.files.list()
