"""What a type checker says of programs that use the library."""

import asyncio
import sys
from pathlib import Path

import pytest

pytest.importorskip("mypy")

SOURCE = Path(__file__).parents[3] / "src"

RIGHT = """
import antiphon
from dataclasses import dataclass

from antiphon import Antiphon, AsyncAntiphon, BackendConfig, NotFoundError, Settings, types
from openai import AsyncOpenAI, OpenAI

settings = Settings(backends=[BackendConfig(url="http://127.0.0.1:8000/v1")], store="sqlite://")


@dataclass
class City:
    name: str


with Antiphon(settings) as client:
    response = client.responses.create(
        model="m",
        input=[{"role": "user", "content": "Hi"}],
        tools=[{"type": "function", "name": "look", "parameters": {}}],
        reasoning={"effort": "low"},
        metadata={"topic": "tides"},
        extra_body={"top_k": 20},
    )
    text: str = response.output_text.upper()
    items: list[types.OutputItem] = response.output
    for item in response.output:
        match item:
            case types.Message(role=role):
                print(role)
            case types.FunctionCall(name=name, arguments=arguments, call_id=call_id):
                print(name.upper(), arguments.upper())
                result = types.FunctionCallOutput(call_id=call_id, output="A tree.")
                client.responses.create(model="m", input=[*response.output, result])
            case types.UnknownItem():
                print(item["type"], item.to_json(indent=2))
    with client.responses.stream(model="m", input="Hi") as stream:
        for event in stream:
            if isinstance(event, types.ResponseTextDeltaEvent):
                print(event.delta.upper(), event.sequence_number + 1)
            elif isinstance(event, types.ResponseCompletedEvent):
                print(event.response.output_text.upper())
            elif isinstance(event, types.ResponseOutputItemDoneEvent):
                print(event.item.type)
        print(stream.get_final_response().to_dict()["id"])
    for event in client.responses.create(model="m", input="Hi", stream=True, background=True):
        print(event.type)
    for event in client.responses.retrieve("resp_1", stream=True, starting_after=3):
        print(event.to_json())
    stored: types.Response = client.responses.retrieve("resp_1", include=["reasoning.encrypted_content"])
    client.responses.cancel("resp_1").status
    print(client.responses.delete("resp_1").deleted)
    print(client.responses.compact(model="m", input="Hi").output)
    print([item.type for item in client.responses.input_items.list("resp_1", order="asc", limit=5)])
    print(client.responses.input_tokens.count(model="m", input="Hi").input_tokens + 1)
    print([model.id.upper() for model in client.models.list()])
    print(client.models.retrieve("m").owned_by.upper())
    city = client.responses.parse(model="m", input="Where?", text_format=City).output_parsed
    print(city.name.upper() if city else "")
    print(client.responses.stream(response_id="resp_1", starting_after=3).get_final_response().output_text.upper())
    conversation = client.conversations.create(items=[{"role": "user", "content": "Hi"}])
    client.conversations.items.create(conversation.id, items=[types.Message(role="user", content="Hi")])
    file = client.files.create(file=("a.txt", b"Hi"), purpose="assistants", timeout=30, extra_headers={"a": "b"})
    print(client.files.content(file.id).text.upper(), [one.filename.upper() for one in client.files.list(limit=5)])
    store = client.vector_stores.create(name="tides", metadata={"a": "b"})
    client.vector_stores.update(store.id, name=None)
    attached = client.vector_stores.files.create_and_poll(file.id, vector_store_id=store.id, attributes={"year": 1})
    print(attached.last_error.code if attached.last_error else attached.status)
    print([found.content[0].text.upper() for found in client.vector_stores.search(store.id, query="Hi")])
    print(client.vector_stores.file_batches.upload_and_poll(store.id, files=[b"a", ("b", b"c")]).file_counts.failed + 1)
    container = client.containers.create(name="c", memory_limit="1g")
    print(client.containers.files.create(container.id, file_id=file.id).path.upper())
    print(client.prompts.create(instructions="{{a}}").variables, client.embeddings.create(model="m", input="a").data)
    print([image.url for image in client.images.generate(prompt="a").data or []])
    try:
        client.responses.retrieve("resp_2", timeout=1.5)
    except NotFoundError as error:
        print(error.status_code + 1, error.request_id, error.param)


async def main() -> None:
    async with AsyncAntiphon(backend="http://127.0.0.1:8000/v1", key="sk", store="sqlite://") as client:
        made: types.Response = await client.responses.create(model="m", input="Hi")
        async with await client.responses.create(model="m", input="Hi", stream=True) as stream:
            async for event in stream:
                print(event.type)
        page = await client.responses.input_items.list(made.id)
        of_page: list[types.OutputItem] = page.data
        async for item in page:
            print(item.type, len(of_page))
        print([model.id.upper() for model in await client.models.list()])
        city = (await client.responses.parse(model="m", input="Where?", text_format=City)).output_parsed
        print(city.name.upper() if city else "")
        async for model in client.models.list():
            print(model.id.upper(), (await client.models.retrieve(model.id)).owned_by.upper())
        async with client.responses.stream(response_id=made.id) as resumed:
            print((await resumed.get_final_response()).output_text.upper())
        async for item in client.responses.input_items.list(made.id):
            print(item.type)
        async for file in client.files.list(purpose="assistants"):
            print(file.filename.upper())
        print((await client.vector_stores.list()).data[0].file_counts.total + 1)
    OpenAI(http_client=antiphon.http_client(settings))
    AsyncOpenAI(http_client=antiphon.async_http_client(settings))


app = antiphon.asgi(settings)
"""  # noqa: E501 - the lines of a text

WRONG = {
    'client.responses.create(modle="m", input="Hi")': 'Unexpected keyword argument "modle"',
    'client.responses.parse(model="m", input="Hi")': 'Missing named argument "text_format"',
    'client.responses.parse(model="m", text_format=Settings).output_parsed.hots': 'has no attribute "hots"',  # noqa: E501 - one text, or a row of a table
    'client.responses.compact(model="m", inptu="Hi")': (
        'Unexpected keyword argument "inptu" for "compact" of "Responses"; did you mean "input"?'
    ),
    'client.responses.stream(model="m", inptu="Hi")': "No overload variant",
    'client.responses.stream(model="m", response_id="resp_1")': "No overload variant",
    'client.responses.create(model="m", input="Hi", temperature="hot")': "No overload variant",
    'client.responses.input_tokens.count(model="m", metadata={})': "Unexpected keyword argument "
    '"metadata"',
    'client.responses.create(model="m").output_txt': '"Response" has no attribute "output_txt"; '
    'maybe "output_text"?',
    'client.responses.input_items.list("resp_1", order="up")': 'Argument "order" to "list"',
    'client.conversations.update("conv_1", metadata={"a": 1})': "Dict entry 0 has incompatible type",  # noqa: E501 - one text, or a row of a table
    'client.files.create(file=3, purpose="assistants")': 'Argument "file" to "create" of "Files"',
    'client.files.retrieve("file-1", timeout="1")': 'Argument "timeout" to "retrieve" of "Files"',
    'client.vector_stores.search("vs_1", qurey="Hi")': 'Unexpected keyword argument "qurey"',
    'Antiphon(url="http://a/v1")': 'Unexpected keyword argument "url" for "Antiphon"',
}


async def checked(program: str, folder: Path, cache: Path) -> list[str]:
    """What mypy reports of a program, a line for each finding."""
    path = folder / "program.py"
    path.write_text(program)
    command = (
        sys.executable,
        "-m",
        "mypy",
        "--strict",
        "--no-error-summary",
        "--follow-imports=silent",
    )
    process = await asyncio.create_subprocess_exec(
        *(*command, "--cache-dir", str(cache), str(path)),
        cwd=folder,
        env={"MYPYPATH": str(SOURCE), "PATH": ""},
        stdout=-1,
        stderr=-1,
    )
    out, err = await process.communicate()
    assert err == b""
    return [
        line.partition(".py:")[2] for line in out.decode().splitlines() if ": note:" not in line
    ]


@pytest.fixture
def cache(pytestconfig: pytest.Config, worker_id: str) -> Path:
    """What mypy has found out, for the next run of this worker: two that write it at once miss
    mistakes.
    """
    assert pytestconfig.cache
    return pytestconfig.cache.mkdir(f"mypy-library-{worker_id}")


@pytest.mark.rotating
@pytest.mark.timeout(600)
async def test_a_program_that_uses_all_of_the_library_passes_in_strict_mode(
    tmp_path: Path, cache: Path
) -> None:
    assert await checked(RIGHT, tmp_path, cache) == []


@pytest.mark.timeout(600)
async def test_each_mistake_is_reported_at_its_line(tmp_path: Path, cache: Path) -> None:
    program = "\n".join(["from antiphon import Antiphon", "client = Antiphon()", *WRONG])
    found = await checked(program, tmp_path, cache)
    for line, (mistake, words) in enumerate(WRONG.items(), 3):
        stated = [one for one in found if one.startswith(f"{line}:")]
        assert any(words in one for one in stated), (mistake, stated)


@pytest.mark.timeout(600)
async def test_a_misspelled_parameter_is_reported_with_the_right_one(
    tmp_path: Path, cache: Path
) -> None:
    found = await checked(
        'from antiphon import Antiphon\nAntiphon().responses.create(modle="m")\n', tmp_path, cache
    )
    assert found[0] == (
        '2: error: Unexpected keyword argument "modle" for overloaded function "create" of '
        '"Responses"; did you mean '
        '"model"?  [call-overload]'
    )
