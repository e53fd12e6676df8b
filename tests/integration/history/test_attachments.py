"""Files in requests, with the official SDK: text for models that read no files, images of pages for
those that see.
"""

import asyncio
import base64
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import openai
import pytest
from aiohttp import web

from antiphon.config import Settings
from antiphon.documents import reader as documents
from antiphon.errors import BackendError, ClientError
from antiphon.history import attachments
from antiphon.protocol.untrusted import framed_file
from antiphon.protocol.validation.validate import decode_request
from antiphon.runs.respond import respond
from antiphon.storage.operations import file_texts
from antiphon.translation.dialects.profile import ModelProfile
from antiphon.translation.files import DELETED
from antiphon.upstream.options import BackendOptions, ModelOptions
from antiphon.upstream.scripted import ScriptedBackend
from tests.support.changed_stores import replace_operation
from tests.support.documents import docx, pdf, text_of_all_kinds, xlsx
from tests.support.parts import plain
from tests.support.recordings import FOLDER, MISSING
from tests.support.server import RunningServer, serve
from tests.support.waiting import ended, eventually
from tests.support.web_app import serving_app

TEXT = "Größe: 42 人人生而自由"
PAGE = f"[Page 1]\n{TEXT}\n\n"


def backend() -> ScriptedBackend:
    return ScriptedBackend(lambda request: plain("Read."), name="b", models=["m"])


@asynccontextmanager
async def serving(model: ScriptedBackend, **options: Any) -> AsyncIterator[RunningServer]:
    async with serve(model, dialects={"b": options.pop("dialect", "generic")}, **options) as server:
        yield server


def data(content: bytes, filename: str = "a.pdf", **more: Any) -> dict[str, Any]:
    url = f"data:application/octet-stream;base64,{base64.b64encode(content).decode()}"
    return {"type": "input_file", "filename": filename, "file_data": url, **more}


def user(*parts: dict[str, Any]) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "input_text", "text": "What is it?"}, *parts]}


def displayed(model: ScriptedBackend, place: int = -1) -> list[dict[str, Any]]:
    """The parts of the last message that the model received."""
    content = model.requests[-1]["messages"][place]["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def stated(model: ScriptedBackend) -> str:
    return json.dumps(model.requests[-1]["messages"], ensure_ascii=False)


async def refusal(
    server: RunningServer, *parts: dict[str, Any], **more: Any
) -> tuple[int, str | None, str | None, str]:
    with pytest.raises(openai.APIStatusError) as raised:
        await server.sdk.responses.create(model="m", input=[user(*parts)], **more)  # type: ignore[list-item]
    error: Any = raised.value
    return error.status_code, error.param, error.code, error.message


@pytest.mark.parametrize("name", text_of_all_kinds("x"))
async def test_a_model_that_reads_no_files_receives_the_text_of_every_format(name: str) -> None:
    model = backend()
    async with serving(model) as server:
        content = text_of_all_kinds(TEXT)[name]
        response = await server.sdk.responses.create(model="m", input=[user(data(content, name))])  # type: ignore[list-item]
    assert response.output_text == "Read."
    assert TEXT in stated(model)
    assert f'content of the file \\"{name}\\"' in stated(model)


async def test_the_text_is_framed_as_data_with_the_name_of_the_file() -> None:
    model = backend()
    async with serving(model) as server:
        await server.sdk.responses.create(model="m", input=[user(data(pdf(TEXT)))])  # type: ignore[list-item]
    assert stated(model).count("[end of file content ") == 1
    assert framed_file(PAGE, "a.pdf") in "".join(part["text"] for part in displayed(model))


async def test_each_turn_of_a_chain_sends_the_same_bytes_and_the_file_is_read_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reads: list[str] = []
    read = documents.DocumentReader.read

    async def counted(self: Any, content: bytes, filename: str, tenant: str = "") -> Any:
        reads.append(filename)
        return await read(self, content, filename, tenant)

    monkeypatch.setattr(documents.DocumentReader, "read", counted)
    model = backend()
    async with serving(model) as server:
        first = await server.sdk.responses.create(model="m", input=[user(data(pdf(TEXT)))])  # type: ignore[list-item]
        begun = model.requests[-1]["messages"]
        second = await server.sdk.responses.create(
            model="m", input="And?", previous_response_id=first.id
        )
        assert model.requests[-1]["messages"][: len(begun)] == begun
        other = await server.built_with(Settings())  # another process: what is kept is in the store
        server.parts.run.attachments = other.run.attachments
        await server.sdk.responses.create(model="m", input="So?", previous_response_id=second.id)
        assert model.requests[-1]["messages"][: len(begun)] == begun
    assert reads == ["a.pdf"]


async def test_without_storage_nothing_of_a_file_stays_in_the_store() -> None:
    model = backend()
    async with serving(model) as server:
        stored: list[Any] = []
        replace_operation(server.parts.store, file_texts.put, stored.append)
        await server.sdk.responses.create(model="m", input=[user(data(pdf(TEXT)))], store=False)  # type: ignore[list-item]
    assert TEXT in stated(model)
    assert stored == []


@pytest.mark.parametrize(
    "way", ["stream", "background", "conversation", "websocket", "tool", "count"]
)
async def test_files_work_in_every_kind_of_request(way: str) -> None:
    model = backend()
    item: Any = user(data(docx(TEXT), "a.docx"))
    async with serving(model) as server:
        sdk = server.sdk
        if way == "stream":
            async for event in await sdk.responses.create(model="m", input=[item], stream=True):
                kind = event.type
            assert kind == "response.completed"
        elif way == "background":
            created = await sdk.responses.create(model="m", input=[item], background=True)
            created = await eventually(
                lambda: sdk.responses.retrieve(created.id),
                lambda created: created.status in ("completed", "failed"),
            )
            assert created.status == "completed"
        elif way == "conversation":
            conversation = await sdk.conversations.create(items=[item])
            await sdk.responses.create(model="m", input="Well?", conversation=conversation.id)
        elif way == "websocket":
            async with server.http.ws_connect(server.url + "/responses") as socket:
                await socket.send_json({"type": "response.create", "model": "m", "input": [item]})
                while (event := await socket.receive_json())["type"] != "response.completed":
                    assert event["type"] != "error", event
        elif way == "tool":
            call: Any = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}
            output: Any = {
                "type": "function_call_output",
                "call_id": "c",
                "output": [data(docx(TEXT), "a.docx")],
            }
            await sdk.responses.create(model="m", input=[user(), call, output])  # type: ignore[list-item]
        else:
            small = await sdk.responses.input_tokens.count(model="m", input="What is it?")
            count = await sdk.responses.input_tokens.count(model="m", input=[item])
            assert count.input_tokens > small.input_tokens + 20
            return
    assert TEXT in stated(model)


@pytest.mark.wide
async def test_a_vision_model_receives_the_pages_as_images_along_with_the_text() -> None:
    model = backend()
    async with serving(model) as server:
        known = (ModelOptions("m", ModelProfile(vision=True), None),)
        server.parts.models.backends[0].update(options=BackendOptions(configured=known))
        await server.sdk.responses.create(model="m", input=[user(data(pdf(TEXT, "", "three")))])  # type: ignore[list-item]
        parts = displayed(model)
        assert [part["type"] for part in parts] == ["text", "text", *["image_url"] * 3]
        assert TEXT in parts[1]["text"]
        assert all(
            part["image_url"]["url"].startswith("data:image/png;base64,iVBOR") for part in parts[2:]
        )
        await server.sdk.responses.create(model="m", input=[user(data(pdf(""), detail="high"))])  # type: ignore[list-item]
        assert [part["type"] for part in displayed(model)] == ["text", "text", "image_url"]
        await server.sdk.responses.create(model="m", input=[user(data(pdf(TEXT), detail="low"))])  # type: ignore[list-item]
        assert "image_url" not in stated(model)


@pytest.mark.wide
async def test_the_model_receives_the_number_of_pages_without_images(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(attachments, "MOST_PAGES", 1)
    model = backend()
    async with serving(model) as server:
        known = (ModelOptions("m", ModelProfile(vision=True), None),)
        server.parts.models.backends[0].update(options=BackendOptions(configured=known))
        for content in (pdf(TEXT, "two", "three"), pdf("", "", "")):
            await server.sdk.responses.create(model="m", input=[user(data(content))])  # type: ignore[list-item]
            parts = displayed(model)
            assert [part["type"] for part in parts] == ["text", "text", "image_url"]
            assert "first 1 of the 3 pages" in parts[1]["text"]


async def test_a_backend_that_reads_files_receives_them_as_before() -> None:
    model = backend()
    content = pdf(TEXT)
    async with serving(model, dialect="openai") as server:
        await server.sdk.responses.create(model="m", input=[user(data(content))])  # type: ignore[list-item]
    file = displayed(model)[1]["file"]
    assert base64.b64decode(file["file_data"].partition(",")[2]) == content
    assert file["filename"] == "a.pdf"


@pytest.mark.parametrize("dialect", ["generic", "openai"])
async def test_a_stored_file_is_found_by_its_id(dialect: str) -> None:
    model = backend()
    async with serving(model, dialect=dialect) as server:
        file = await server.sdk.files.create(file=("stored.pdf", pdf(TEXT)), purpose="user_data")
        part = {"type": "input_file", "file_id": file.id}
        first = await server.sdk.responses.create(model="m", input=[user(part)])  # type: ignore[list-item]
        if dialect == "openai":
            assert base64.b64decode(
                displayed(model)[1]["file"]["file_data"].partition(",")[2]
            ) == pdf(TEXT)
        else:
            assert 'file "stored.pdf"' in displayed(model)[1]["text"]
            assert TEXT in displayed(model)[1]["text"]
        await server.sdk.files.delete(file.id)
        await server.sdk.responses.create(model="m", input="And?", previous_response_id=first.id)
        assert DELETED in stated(model)
        status, param, code, message = await refusal(server, part)
    assert (status, param, code) == (404, "input[0].content[1].file_id", None)
    assert f"No such File object: {file.id}" in message


async def test_a_backend_that_speaks_responses_receives_the_parts_and_the_data_of_stored_files() -> (  # noqa: E501 - one text, or a row of a table
    None
):
    model = backend()
    settings = {"b": BackendOptions(api="responses")}
    async with serving(model, shares=settings) as server:
        file = await server.sdk.files.create(file=("stored.pdf", pdf(TEXT)), purpose="user_data")
        parts = [
            {"type": "input_file", "file_id": file.id},
            data(pdf("own")),
            url("https://example.com/a.pdf"),
        ]
        with suppress(openai.APIError):  # the scripted model answers in Chat
            await server.sdk.responses.create(model="m", input=[user(*parts)])  # type: ignore[list-item]
        _, stored, own, linked = model.requests[-1]["input"][0]["content"]
        status, param, _, _ = await refusal(server, {"type": "input_file", "file_id": "file-none"})
    assert stored["filename"] == "stored.pdf"
    assert stored["file_data"] == data(pdf(TEXT))["file_data"].replace("octet-stream", "pdf")
    assert own == parts[1]
    assert linked == parts[2]
    assert (status, param) == (404, "input[0].content[1].file_id")


async def test_a_tenant_cannot_read_the_file_of_another() -> None:
    async with serving(backend()) as server:
        file = await server.sdk.files.create(file=("stored.pdf", pdf(TEXT)), purpose="user_data")
        body = {"model": "m", "input": [user({"type": "input_file", "file_id": file.id})]}
        request = decode_request(json.dumps(body).encode())
        assert (await respond(server.parts.run, request, "")).status == "completed"
        with pytest.raises(ClientError, match="No such File object") as raised:
            await respond(server.parts.run, request, "other")
    assert raised.value.status == 404


async def test_the_same_content_under_two_names_is_read_by_the_type_of_each_name() -> None:
    model = backend()
    rows = b"".join(b"row %d,x\n" % number for number in range(1_200))
    async with serving(model) as server:
        for name, last in (("a.csv", "row 999"), ("a.md", "row 1199"), ("a.csv", "row 999")):
            file = await server.sdk.files.create(file=(name, rows), purpose="user_data")
            part = {"type": "input_file", "file_id": file.id}
            await server.sdk.responses.create(model="m", input=[user(part)])  # type: ignore[list-item]
            assert last in stated(model)
            assert ("row 1000" in stated(model)) == (name == "a.md")


async def test_a_backend_that_takes_over_gets_the_form_that_it_needs() -> None:
    def broken(request: Any) -> Any:
        return BackendError("It is down.")

    reads = ScriptedBackend(broken, name="b", models=["m"])
    text = ScriptedBackend([plain("Read.")], name="c", models=["m"])
    dialects = {"b": "openai", "c": "generic"}
    async with serve(
        reads, text, dialects=dialects, shares={"b": BackendOptions(weight=1e9)}
    ) as server:
        file = await server.sdk.files.create(file=("stored.pdf", pdf(TEXT)), purpose="user_data")
        part = {"type": "input_file", "file_id": file.id}
        await server.sdk.responses.create(model="m", input=[user(part)])  # type: ignore[list-item]
    assert "file_data" in json.dumps(reads.requests)
    assert TEXT in stated(text)


class Site:
    """A site with files, on this machine."""

    def __init__(self) -> None:
        self.url = ""
        self.requested: list[str] = []

    async def answer(self, request: web.Request) -> web.Response:
        self.requested.append(request.path)
        if request.path == "/missing":
            raise web.HTTPNotFound
        if request.path == "/inside":
            raise web.HTTPFound("http://127.0.0.1:9/secret")
        return web.Response(body=pdf(TEXT), content_type="application/pdf")


@asynccontextmanager
async def site() -> AsyncIterator[Site]:
    created = Site()
    app = web.Application()
    app.router.add_get("/{path:.*}", created.answer)
    async with serving_app(app) as origin:
        created.url = origin.replace("127.0.0.1", "files.example")
        yield created


async def this_machine(*_: object) -> list[str]:
    return ["127.0.0.1"]


def url(address: str) -> dict[str, Any]:
    return {"type": "input_file", "file_url": address}


async def test_a_file_by_url_is_fetched_here_and_named_by_its_address() -> None:
    model = backend()
    settings = Settings(outgoing_networks=["127.0.0.0/8"])
    async with site() as files, serving(model, settings=settings, resolve=this_machine) as server:
        await server.sdk.responses.create(
            model="m", input=[user(url(f"{files.url}/d/a%20b.pdf?x=1"))]
        )  # type: ignore[list-item]
        assert 'file "a b.pdf"' in displayed(model)[1]["text"]
        assert TEXT in displayed(model)[1]["text"]
        status, param, code, message = await refusal(server, url(f"{files.url}/missing"))
    assert (status, param, code) == (400, "input[0].content[1].file_url", "invalid_file")
    assert "404" in message


async def test_a_url_leads_to_no_address_that_is_not_public() -> None:
    model = backend()
    async with site() as files, serving(model, resolve=this_machine) as server:
        status, param, code, _ = await refusal(server, url(f"{files.url}/a.pdf"))
        assert (status, param, code) == (400, "input[0].content[1].file_url", "invalid_file")
        assert files.requested == []


@pytest.mark.parametrize(
    ("content", "name", "code", "words"),
    [
        (pdf("x", encrypted=True), "a.pdf", "invalid_file", "protected by a password"),
        (pdf(""), "a.pdf", "invalid_file", "contains no text"),
        (b"%PDF-broken", "a.pdf", "invalid_file", "not a valid PDF"),
        ("ö".encode("latin-1"), "a.txt", "invalid_file", "not text in UTF-8"),
        (
            b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(99),
            "a.doc",
            "unsupported_file",
            "old Office document",
        ),
    ],
)
async def test_a_file_that_cannot_be_read_is_refused_with_its_reason(
    content: bytes, name: str, code: str, words: str
) -> None:
    model = backend()
    async with serving(model) as server:
        for more in ({}, {"stream": True}):
            status, param, found, message = await refusal(server, data(content, name), **more)
            assert (status, param, found) == (400, "input[0].content[1]", code)
            assert words in message
    assert model.requests == []


async def test_all_files_of_a_request_together_have_a_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(attachments, "MOST_BYTES", 2_000)
    async with serving(backend()) as server:
        status, param, code, message = await refusal(server, data(pdf("one")), data(pdf("two")))
    assert (status, param, code) == (400, "input[0].content[2]", "invalid_value")
    assert "together" in message


RECORDED = {
    path.name.removesuffix(".request.json")[-60:]: text
    for path in sorted((FOLDER / "hosted").glob("*.request.json"))
    if "input_file" in (text := path.read_text())
}


@pytest.mark.skipif(not RECORDED, reason=MISSING)
@pytest.mark.parametrize("name", RECORDED)
async def test_a_recorded_request_with_a_file_reaches_the_model_as_text(name: str) -> None:
    model = backend()
    async with serving(model) as server:
        stored = await server.sdk.files.create(file=("stored.pdf", pdf(TEXT)), purpose="user_data")
        body = re.sub(r'"file-[A-Za-z0-9]{22}"', f'"{stored.id}"', RECORDED[name])
        # The recordings have the beginning of each file alone.
        body = re.sub(
            '(application/pdf;base64,)[^"]*', r"\g<1>" + base64.b64encode(pdf(TEXT)).decode(), body
        )
        status, answer = await server.post(
            "/responses", json=json.loads(body) | {"model": "m", "stream": False}
        )
    assert status == 200, answer
    assert "content of the file" in stated(model)


async def test_rows_of_a_sheet_are_cut_and_the_model_receives_a_note() -> None:
    model = backend()
    sheet = xlsx({"Sums": [[f"row {n}"] for n in range(1_500)]})
    async with serving(model) as server:
        await server.sdk.responses.create(model="m", input=[user(data(sheet, "a.xlsx"))])  # type: ignore[list-item]
    assert "row 999" in stated(model)
    assert "row 1000" not in stated(model)
    assert "Only the first 1,000 of 1,500 rows are shown." in stated(model)


@pytest.mark.wide
async def test_the_memory_of_files_is_released_with_the_response() -> None:
    async with serving(backend()) as server:
        free = server.parts.run.history.memory.left
        await server.sdk.responses.create(model="m", input=[user(data(pdf(TEXT)))])  # type: ignore[list-item]
        await refusal(server, data(b"%PDF-broken"))
        assert server.parts.run.history.memory.left == free


async def test_more_files_than_the_memory_holds_are_refused_for_now() -> None:
    async with serving(backend()) as server:
        server.parts.run.history.memory.take(server.parts.run.history.memory.left - 100_000)
        status, _, code, _ = await refusal(server, data(docx("x" * 60_000)))
        assert (status, code) == (503, "server_is_overloaded")


async def in_background(server: RunningServer, *parts: dict[str, Any]) -> Any:
    return await server.sdk.responses.create(model="m", input=[user(*parts)], background=True)  # type: ignore[list-item]


@pytest.mark.wide
async def test_a_background_response_waits_for_the_memory_that_its_files_need() -> None:
    async with serving(backend()) as server:
        memory = server.parts.run.history.memory
        waited = asyncio.Event()
        file = await server.sdk.files.create(file=("a.txt", b"x" * 500_000), purpose="user_data")
        memory.take(taken := memory.left - 400_000)
        real = memory.wait_for

        async def wait_for(size: int, tenant: str = "") -> None:
            waited.set()
            await real(size, tenant)

        memory.wait_for = wait_for  # type: ignore[method-assign]
        begun = await in_background(server, {"type": "input_file", "file_id": file.id})
        await asyncio.wait_for(waited.wait(), 30)
        memory.release(taken)
        assert (await ended(server.sdk, begun.id)).output_text == "Read."


async def test_a_background_response_waits_for_busy_readers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(attachments, "BUSY", 0.0)
    requested: list[str] = []
    real = documents.DocumentReader.read

    async def read(self: Any, content: bytes, filename: str, tenant: str = "") -> Any:
        requested.append(filename)
        if len(requested) % 3:
            raise documents.DocumentError(
                "invalid_file", "Too many files are being read at once.", "busy"
            )
        return await real(self, content, filename, tenant)

    monkeypatch.setattr(documents.DocumentReader, "read", read)
    async with serving(backend()) as server:
        begun = await in_background(server, data(docx(TEXT)))
        assert (await ended(server.sdk, begun.id)).output_text == "Read."
        assert len(requested) == 3
        assert (await refusal(server, data(docx(TEXT + "2"))))[:1] == (503,), (
            "whoever waits for an answer is told"
        )
