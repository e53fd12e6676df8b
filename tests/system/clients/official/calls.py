"""The helper calls of the official Python SDK, as its users write them, against a server with the
model `demo`.

Arguments: the base URL, and the model of the embedding server. Prints a line of JSON for each call:
its name, and what failed, else an empty text. It runs in an environment that has only the SDK.
"""

import asyncio
import base64
import io
import json
import sys
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import openai
from openai import AsyncOpenAI, OpenAI
from pydantic import BaseModel

MODEL = "demo"
URL = sys.argv[1]
EMBEDDING_MODEL = sys.argv[2]
OPTIONS: Any = {"base_url": URL, "api_key": "sk-test", "max_retries": 0, "timeout": 30}
PNG = b"\x89PNG\r\n\x1a\n"
TEXT = b"High water in Dover is at nine in the morning."
INTERVAL: Any = {"poll_interval_ms": 20}

client = OpenAI(**OPTIONS)
CALLS: dict[str, Callable[[], None]] = {}


class Place(BaseModel):
    name: str


class GetTide(BaseModel):
    harbour: str


def call(name: str) -> Callable[[Callable[[], None]], Callable[[], None]]:
    """Add a function to the table of calls."""

    def add(function: Callable[[], None]) -> Callable[[], None]:
        CALLS[name] = function
        return function

    return add


def tide_file(name: str = "tides.txt") -> tuple[str, bytes]:
    return name, TEXT


def uploaded() -> Any:
    return client.files.create(file=tide_file(), purpose="assistants")


def filled_store() -> tuple[Any, Any]:
    """A vector store with one file."""
    store = client.vector_stores.create(name="harbours")
    file = uploaded()
    client.vector_stores.files.create_and_poll(file.id, vector_store_id=store.id, **INTERVAL)
    return store, file


def text_in(conversation: str) -> list[str]:
    items = client.conversations.items.list(conversation, order="asc", limit=1)
    return [getattr(item, "role", item.type) for item in items]


# Responses.


@call("responses.create")
def _create() -> None:
    response = client.responses.create(model=MODEL, input="hi")
    assert (response.status, response.object) == ("completed", "response")
    assert "You said: hi" in response.output_text
    assert response.usage is not None


@call("responses.create(stream=True)")
def _create_stream() -> None:
    with client.responses.create(model=MODEL, input="hi", stream=True) as stream:
        events = list(stream)
    assert [event.sequence_number for event in events] == list(range(len(events)))
    assert (events[0].type, events[-1].type) == ("response.created", "response.completed")


@call("responses.create(previous_response_id)")
def _chain() -> None:
    first = client.responses.create(model=MODEL, input="My name is Ada.")
    second = client.responses.create(
        model=MODEL, input="What is my name?", previous_response_id=first.id
    )
    assert second.output_text == "Your name is Ada."


@call("responses.stream, text")
def _stream_text() -> None:
    with client.responses.stream(model=MODEL, input="hi") as stream:
        seen = [event.snapshot for event in stream if event.type == "response.output_text.delta"]
        final = stream.get_final_response()
    assert len(seen) > 1
    assert seen[-1] == final.output_text


@call("responses.stream, tool call")
def _stream_tool() -> None:
    tools = [openai.pydantic_function_tool(GetTide)]
    flat: Any = [{"type": "function", **tool["function"]} for tool in tools]
    prompt = 'call GetTide {"harbour": "Dover"}'
    with client.responses.stream(model=MODEL, input=prompt, tools=flat) as stream:
        seen = [
            event.snapshot
            for event in stream
            if event.type == "response.function_call_arguments.delta"
        ]
        called = stream.get_final_response().output[-1]
    assert called.type == "function_call"
    assert json.loads(seen[-1]) == json.loads(called.arguments) == {"harbour": "Dover"}


@call("responses.stream(text_format)")
def _stream_parse() -> None:
    with client.responses.stream(
        model=MODEL, input='answer {"name": "Dover"}', text_format=Place
    ) as stream:
        assert stream.get_final_response().output_parsed == Place(name="Dover")


@call("responses.parse(text_format)")
def _parse() -> None:
    response = client.responses.parse(
        model=MODEL, input='answer {"name": "Dover"}', text_format=Place
    )
    assert response.output_parsed == Place(name="Dover")


@call("responses.parse(tools)")
def _parse_tool() -> None:
    tool: Any = openai.pydantic_function_tool(GetTide)
    flat: Any = {"type": "function", **tool["function"]}
    (called,) = client.responses.parse(
        model=MODEL, input='call GetTide {"harbour": "Dover"}', tools=[flat]
    ).output
    assert called.type == "function_call"
    assert called.parsed_arguments == {"harbour": "Dover"}


@call("responses.create, custom tool")
def _custom_tool() -> None:
    tool: Any = {"type": "custom", "name": "patch"}
    first = client.responses.create(
        model=MODEL, input='call patch {"input": "one\\ntwo"}', tools=[tool]
    )
    (called,) = first.output
    assert called.type == "custom_tool_call"
    assert called.input == "one\ntwo"
    output: Any = {
        "type": "custom_tool_call_output",
        "call_id": called.call_id,
        "output": "patched",
    }
    second = client.responses.create(
        model=MODEL, input=[output], tools=[tool], previous_response_id=first.id
    )
    assert "patched" in second.output_text


@call("responses.with_raw_response")
def _raw() -> None:
    raw = client.responses.with_raw_response.create(model=MODEL, input="hi")
    assert raw.status_code == 200
    assert raw.headers["x-request-id"] == raw.request_id
    assert "You said: hi" in raw.parse().output_text


@call("responses.with_streaming_response")
def _streaming() -> None:
    with client.responses.with_streaming_response.create(
        model=MODEL, input="hi", stream=True
    ) as raw:
        lines = list(raw.iter_lines())
    assert "event: response.created" in lines
    assert "event: response.completed" in lines


@call("responses.create(background), polled")
def _background() -> None:
    response = client.responses.create(model=MODEL, input="hi", background=True)
    assert response.status in ("queued", "in_progress")
    while response.status in ("queued", "in_progress"):
        time.sleep(0.02)
        response = client.responses.retrieve(response.id)
    assert (response.status, "You said: hi" in response.output_text) == ("completed", True)


def interrupted() -> tuple[str, int]:
    """The id of a background response, and the number of the last event that was read."""
    with client.responses.create(model=MODEL, input="hi", background=True, stream=True) as stream:
        events = [event for event, _ in zip(stream, range(3), strict=False)]
    created: Any = events[0]
    return created.response.id, events[-1].sequence_number


@call("responses.retrieve(stream=True)")
def _resume() -> None:
    response_id, last = interrupted()
    rest = list(client.responses.retrieve(response_id, stream=True, starting_after=last))
    assert (rest[0].sequence_number, rest[-1].type) == (last + 1, "response.completed")


@call("responses.stream(response_id)")
def _resume_helper() -> None:
    response_id, last = interrupted()
    with client.responses.stream(response_id=response_id, starting_after=last) as stream:
        assert "You said: hi" in stream.get_final_response().output_text


@call("responses.cancel")
def _cancel() -> None:
    response = client.responses.create(model=MODEL, input="hi", background=True)
    assert client.responses.cancel(response.id).status in ("cancelled", "completed")


@call("responses.delete")
def _delete() -> None:
    response = client.responses.create(model=MODEL, input="hi")
    client.responses.delete(response.id)
    try:
        client.responses.retrieve(response.id)
    except openai.NotFoundError as error:
        assert (error.status_code, error.request_id is not None) == (404, True)
    else:
        raise AssertionError("the response is still there")


@call("responses.input_items.list, pages")
def _input_items() -> None:
    first = client.responses.create(model=MODEL, input="My name is Ada.")
    second = client.responses.create(
        model=MODEL, input="What is my name?", previous_response_id=first.id
    )
    assert len(list(client.responses.input_items.list(second.id, limit=1))) == 3


@call("responses.input_tokens.count")
def _count() -> None:
    assert client.responses.input_tokens.count(model=MODEL, input="hi").input_tokens > 0


@call("responses.compact")
def _compact() -> None:
    folded = client.responses.compact(
        model=MODEL, input=[{"role": "user", "content": "My name is Ada."}]
    )
    assert (folded.object, folded.output[-1].type) == ("response.compaction", "compaction")


@call("responses.connect")
def _connect() -> None:
    with client.responses.connect() as connection:
        connection.response.create(model=MODEL, input="My name is Ada.", store=False)
        first: Any = next(event for event in connection if event.type == "response.completed")
        previous = first.response.id
        connection.response.create(
            model=MODEL, input="What is my name?", store=False, previous_response_id=previous
        )
        second: Any = next(event for event in connection if event.type == "response.completed")
    assert second.response.output_text == "Your name is Ada."


@call("AsyncOpenAI.responses.stream")
def _async_stream() -> None:
    async def final() -> str:
        async with (
            AsyncOpenAI(**OPTIONS) as one,
            one.responses.stream(model=MODEL, input="hi") as stream,
        ):
            return (await stream.get_final_response()).output_text

    assert "You said: hi" in asyncio.run(final())


@call("AsyncOpenAI.responses.connect")
def _async_connect() -> None:
    async def final() -> str:
        async with AsyncOpenAI(**OPTIONS) as one, one.responses.connect() as connection:
            await connection.response.create(model=MODEL, input="hi")
            async for event in connection:
                if event.type == "response.completed":
                    return event.response.output_text
        return ""

    assert "You said: hi" in asyncio.run(final())


# Conversations, chat completions, models, embeddings.


@call("conversations")
def _conversations() -> None:
    created = client.conversations.create(metadata={"a": "b"})
    changed = client.conversations.update(created.id, metadata={"c": "d"})
    assert client.conversations.retrieve(created.id).metadata == changed.metadata == {"c": "d"}
    assert client.conversations.delete(created.id).deleted


@call("conversations.items, pages")
def _conversation_items() -> None:
    message: Any = {"type": "message", "role": "user", "content": "My name is Ada."}
    created = client.conversations.create(items=[message])
    client.responses.create(model=MODEL, input="hi", conversation=created.id)
    added = client.conversations.items.create(created.id, items=[message])
    item_id: Any = added.data[0].id
    assert client.conversations.items.retrieve(item_id, conversation_id=created.id).id == item_id
    client.conversations.items.delete(item_id, conversation_id=created.id)
    assert text_in(created.id) == ["user", "user", "assistant"]


@call("chat.completions.parse")
def _chat_parse() -> None:
    messages: Any = [{"role": "user", "content": 'answer {"name": "Dover"}'}]
    completion = client.chat.completions.parse(
        model=MODEL, messages=messages, response_format=Place
    )
    assert completion.choices[0].message.parsed == Place(name="Dover")


@call("chat.completions.stream")
def _chat_stream() -> None:
    messages: Any = [{"role": "user", "content": "hi"}]
    with client.chat.completions.stream(model=MODEL, messages=messages) as stream:
        final = stream.get_final_completion()
    assert "You said: hi" in str(final.choices[0].message.content)


@call("chat.completions.list, pages")
def _stored_chat() -> None:
    messages: Any = [{"role": "user", "content": "hi"}]
    created = [
        client.chat.completions.create(model=MODEL, messages=messages, store=True).id
        for _ in range(2)
    ]
    assert set(created) <= {one.id for one in client.chat.completions.list(limit=1)}
    assert [one.content for one in client.chat.completions.messages.list(created[0])] == ["hi"]
    assert client.chat.completions.delete(created[0]).deleted


@call("models.list, models.retrieve")
def _models() -> None:
    assert {MODEL, EMBEDDING_MODEL} <= {model.id for model in client.models.list()}
    assert client.models.retrieve(MODEL).id == MODEL


@call("embeddings.create")
def _embeddings() -> None:
    vectors = client.embeddings.create(model=EMBEDDING_MODEL, input=["feline", "bill"]).data
    assert [len(one.embedding) for one in vectors] == [3, 3]


# Files and uploads.


@call("files.create, retrieve")
def _files() -> None:
    file = uploaded()
    assert client.files.retrieve(file.id).filename == "tides.txt"


@call("files.list, pages")
def _files_list() -> None:
    created = {uploaded().id for _ in range(3)}
    assert created <= {file.id for file in client.files.list(limit=2)}


@call("files.content")
def _files_content() -> None:
    assert client.files.content(uploaded().id).read() == TEXT


@call("files.wait_for_processing")
def _files_wait() -> None:
    assert client.files.wait_for_processing(uploaded().id, poll_interval=0.02).status == "processed"


@call("files.delete")
def _files_delete() -> None:
    assert client.files.delete(uploaded().id).deleted


@call("uploads.upload_file_chunked")
def _chunked() -> None:
    upload = client.uploads.upload_file_chunked(
        file=TEXT,
        filename="tides.txt",
        bytes=len(TEXT),
        mime_type="text/plain",
        purpose="assistants",
        part_size=10,
    )
    assert (upload.status, upload.file is not None) == ("completed", True)
    assert client.files.content(upload.file.id if upload.file else "").read() == TEXT


@call("uploads.parts.create, cancel")
def _uploads() -> None:
    upload = client.uploads.create(
        bytes=3, filename="a.txt", mime_type="text/plain", purpose="assistants"
    )
    assert client.uploads.parts.create(upload.id, data=b"abc").object == "upload.part"
    assert client.uploads.cancel(upload.id).status == "cancelled"


# Vector stores.


@call("vector_stores, pages")
def _vector_stores() -> None:
    created = [client.vector_stores.create(name=f"harbours {number}") for number in range(3)]
    assert client.vector_stores.update(created[0].id, name="ports").name == "ports"
    assert client.vector_stores.retrieve(created[0].id).name == "ports"
    assert {store.id for store in created} <= {
        store.id for store in client.vector_stores.list(limit=1)
    }
    assert client.vector_stores.delete(created[0].id).deleted


@call("vector_stores.files.create_and_poll")
def _store_file() -> None:
    store, file = filled_store()
    assert (
        client.vector_stores.files.retrieve(file.id, vector_store_id=store.id).status == "completed"
    )
    assert "nine" in str(
        client.vector_stores.files.content(file.id, vector_store_id=store.id).data[0].text
    )


@call("vector_stores.files.upload_and_poll")
def _store_upload() -> None:
    store = client.vector_stores.create()
    file = client.vector_stores.files.upload_and_poll(
        vector_store_id=store.id, file=tide_file(), **INTERVAL
    )
    assert (file.status, file.last_error) == ("completed", None)


@call("vector_stores.file_batches.create_and_poll")
def _batch() -> None:
    store = client.vector_stores.create()
    ids = [uploaded().id, uploaded().id]
    batch = client.vector_stores.file_batches.create_and_poll(store.id, file_ids=ids, **INTERVAL)
    assert (batch.status, batch.file_counts.completed) == ("completed", 2)
    listed = client.vector_stores.file_batches.list_files(
        batch.id, vector_store_id=store.id, limit=1
    )
    assert {file.id for file in listed} == set(ids)


@call("vector_stores.file_batches.upload_and_poll")
def _batch_upload() -> None:
    store = client.vector_stores.create()
    files = [tide_file("a.txt"), tide_file("b.txt")]
    batch = client.vector_stores.file_batches.upload_and_poll(store.id, files=files, **INTERVAL)
    assert (batch.status, batch.file_counts.completed) == ("completed", 2)


@call("vector_stores.search")
def _search() -> None:
    store, file = filled_store()
    found = list(client.vector_stores.search(store.id, query="When is high water?"))
    assert (found[0].file_id, "nine" in found[0].content[0].text) == (file.id, True)


@call("responses.create, file_search")
def _file_search() -> None:
    store, file = filled_store()
    tool: Any = {"type": "file_search", "vector_store_ids": [store.id]}
    response = client.responses.create(
        model=MODEL,
        input="When is high water in Dover?",
        tools=[tool],
        include=["file_search_call.results"],
    )
    search: Any = response.output[0]
    assert (search.type, search.results[0].file_id) == ("file_search_call", file.id)


# Containers, images.


@call("containers.files")
def _containers() -> None:
    container = client.containers.create(name="tides")
    assert container.id in [one.id for one in client.containers.list(limit=1)]
    file = client.containers.files.create(container.id, file=tide_file())
    assert [one.id for one in client.containers.files.list(container.id)] == [file.id]
    assert (
        client.containers.files.content.retrieve(file.id, container_id=container.id).read() == TEXT
    )
    client.containers.files.delete(file.id, container_id=container.id)
    client.containers.delete(container.id)


@call("responses.create, code_interpreter")
def _code() -> None:
    tool: Any = {"type": "code_interpreter", "container": {"type": "auto"}}
    response = client.responses.create(
        model=MODEL,
        input="Run: print(6 * 7)",
        tools=[tool],
        include=["code_interpreter_call.outputs"],
    )
    ran: Any = response.output[0]
    assert (ran.type, ran.status, ran.outputs[0].logs.strip()) == (
        "code_interpreter_call",
        "completed",
        "42",
    )


@call("images.generate, images.edit")
def _images() -> None:
    created: Any = client.images.generate(prompt="Draw a red circle.", model=MODEL).data
    picture = base64.b64decode(created[0].b64_json)
    assert picture.startswith(PNG)
    edited: Any = client.images.edit(
        image=("circle.png", io.BytesIO(picture), "image/png"),
        prompt="Change it to blue.",
        model=MODEL,
    ).data
    assert base64.b64decode(edited[0].b64_json).startswith(PNG)


# Webhooks.


@call("webhooks")
def _webhooks() -> None:
    endpoint = client.webhooks.create(
        name="tides", url="http://127.0.0.1:9/hook", event_types=["response.completed"]
    )
    assert endpoint.id in [one.id for one in client.webhooks.list(limit=1)]
    assert client.webhooks.retrieve(endpoint.id).name == "tides"
    assert client.webhooks.update(endpoint.id, name="ports").name == "ports"
    assert client.webhooks.rotate_secret(endpoint.id).signing_secret
    assert "response.completed" in client.webhooks.event_types.list().data
    client.webhooks.delete(endpoint.id)


@call("webhooks.unwrap")
def _unwrap() -> None:
    events: list[Any] = []

    class Receiver(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            events.append(
                client.webhooks.unwrap(
                    body, dict(self.headers.items()), secret=endpoint.signing_secret
                )
            )
            self.send_response(200)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Receiver) as server:
        server.timeout = 20
        url = f"http://127.0.0.1:{server.server_port}/hook"
        endpoint = client.webhooks.create(name="tides", url=url, event_types=["response.completed"])
        response = client.responses.create(model=MODEL, input="hi", background=True)
        server.handle_request()
    client.webhooks.delete(endpoint.id)
    assert [(event.type, event.data.id) for event in events] == [
        ("response.completed", response.id)
    ]


def failure(function: Callable[[], None]) -> str:
    try:
        function()
    except Exception as error:  # every call has a line of its own
        return f"{type(error).__name__}: {error}"[:600] or type(error).__name__
    return ""


for name, function in CALLS.items():
    print(json.dumps({"name": name, "failed": failure(function)}), flush=True)
print(json.dumps({"version": openai.__version__, "calls": len(CALLS)}), flush=True)
