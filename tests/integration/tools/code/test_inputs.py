"""Files that the official SDK attaches to a message, read by code in real machines, with both
databases.
"""

import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web
from openai import AsyncOpenAI, NotFoundError

from antiphon.storage.open import open_store
from antiphon.upstream.scripted import ScriptedBackend
from tests.support.code import AUTO, OUTPUTS, SHELL, coder, container_of, logs, settings
from tests.support.keys import issued
from tests.support.server import RunningServer, serve
from tests.support.web_app import serving_app

CSV = b"item,price\npear,20\nfig,22\n"
SUM = "import csv\nsum(int(row['price']) for row in csv.DictReader(open({path!r})))"
LIST = "import os; sorted(os.listdir('/mnt/data'))"


@asynccontextmanager
async def coding_server(
    store: Any, resolve: Any = None, **chosen: Any
) -> AsyncIterator[tuple[RunningServer, ScriptedBackend]]:
    model = ScriptedBackend(coder, models=["m"])
    chosen_settings = settings(**chosen)
    async with serve(
        model, store=store, settings=chosen_settings, resolve=resolve, has_tools=True
    ) as server:
        yield server, model


def by_data(content: bytes = CSV, filename: str = "sales.csv") -> dict[str, Any]:
    url = f"data:text/csv;base64,{base64.b64encode(content).decode()}"
    return {"type": "input_file", "filename": filename, "file_data": url}


async def run(sdk: AsyncOpenAI, code: str, *files: dict[str, Any], **more: Any) -> Any:
    attached: Any = [{"role": "user", "content": [*files]}] if files else []
    message: Any = {"role": "user", "content": code}
    return await sdk.responses.create(
        model="m", input=[*attached, message], tools=[AUTO], include=OUTPUTS, timeout=60, **more
    )


def read_by(model: ScriptedBackend) -> str:
    """What the model read of the newest call."""
    return str(model.requests[-1]["messages"][-1]["content"])


@pytest.mark.wide
async def test_code_reads_a_file_by_data_and_the_next_turn_does_not_copy_it_again(
    store_url: str,
) -> None:
    async with coding_server(store_url) as (server, model):
        first = await run(server.sdk, SUM.format(path="sales.csv"), by_data())
        assert " in the container: /mnt/data/sales.csv." in read_by(model)
        (file,) = (await server.sdk.containers.files.list(container_of(first))).data
        second = await run(
            server.sdk, "import os; os.remove('/mnt/data/sales.csv')", previous_response_id=first.id
        )
        third = await run(
            server.sdk, LIST, by_data(b"a", "new.csv"), previous_response_id=second.id
        )

    assert logs(first) == ["42"]
    assert (file.path, file.source, file.bytes) == ("/mnt/data/sales.csv", "user", len(CSV))
    assert container_of(third) == container_of(first)
    assert logs(third) == ["['new.csv']"]


async def test_code_reads_a_file_by_id_also_after_the_file_is_deleted(store_url: str) -> None:
    async with coding_server(store_url) as (server, model):
        file = await server.sdk.files.create(file=("sales.csv", CSV), purpose="user_data")
        path = f"/mnt/data/{file.id}-sales.csv"
        first = await run(
            server.sdk, SUM.format(path=path), {"type": "input_file", "file_id": file.id}
        )
        assert f"Files of the user in the container: {path}." in read_by(model)
        await server.sdk.files.delete(file.id)
        second = await run(server.sdk, SUM.format(path=path), previous_response_id=first.id)

    assert logs(first) == logs(second) == ["42"]


async def test_a_conversation_that_stores_nothing_copies_once(store_url: str) -> None:
    async with coding_server(store_url) as (server, _):
        message: Any = {"role": "user", "content": [by_data()]}
        code: Any = {"role": "user", "content": "import os; os.remove('/mnt/data/sales.csv')"}
        more: Any = {"model": "m", "tools": [AUTO], "store": False, "include": OUTPUTS}
        first = await server.sdk.responses.create(input=[message, code], **more)
        history = [item.to_dict() for item in first.output]
        second = await server.sdk.responses.create(
            input=[message, code, *history, {"role": "user", "content": LIST}], **more
        )

    assert container_of(second) == container_of(first)
    assert logs(second) == ["[]"]


async def test_commands_read_the_files_and_a_later_command_does_not_copy_them_again(
    store_url: str,
) -> None:
    async with coding_server(store_url) as (server, model):
        more: Any = {"model": "m", "tools": [SHELL], "timeout": 60}
        message: Any = {"role": "user", "content": [by_data()]}
        command: Any = {"role": "user", "content": "cat sales.csv && rm sales.csv"}
        first = await server.sdk.responses.create(input=[message, command], **more)
        assert "pear,20" in read_by(model) and "/mnt/data/sales.csv" in read_by(model)
        await server.sdk.responses.create(input="ls", previous_response_id=first.id, **more)

    assert "sales.csv" not in read_by(model)


@pytest.mark.wide
async def test_another_server_does_not_copy_again(store_url: str) -> None:
    async with coding_server(store_url) as (one, _), coding_server(store_url) as (other, model):
        first = await run(one.sdk, "import os; os.rename('sales.csv', 'mine.csv')", by_data())
        second = await run(other.sdk, LIST, previous_response_id=first.id)

    assert logs(second) == ["['mine.csv']"]
    assert "Files of the user" not in read_by(model)


async def test_code_reads_a_file_by_url_and_an_image_by_data(store_url: str) -> None:
    async def answer(request: web.Request) -> web.Response:
        return web.Response(body=CSV, content_type="text/csv")

    async def this_machine(*_: object) -> list[str]:
        return ["127.0.0.1"]

    app = web.Application()
    app.router.add_get("/sales.csv", answer)
    async with (
        serving_app(app) as origin,
        coding_server(store_url, this_machine, outgoing_networks=["127.0.0.0/8"]) as (server, _),
    ):
        url = f"{origin.replace('127.0.0.1', 'files.example')}/sales.csv"
        response = await run(
            server.sdk, SUM.format(path="sales.csv"), {"type": "input_file", "file_url": url}
        )

    assert logs(response) == ["42"]


@pytest.mark.wide
async def test_a_file_that_the_tenant_has_no_room_for_is_left_out_by_name(store_url: str) -> None:
    text = b"a,b\n" * 100_000
    async with coding_server(store_url, max_stored_bytes=300_000) as (server, model):
        response = await run(
            server.sdk, LIST, by_data(text), by_data(b"1", "small.csv"), store=False
        )

    assert logs(response) == ["['small.csv']"] and response.output[0].status == "completed"
    assert "sales.csv was not copied: the container" in read_by(model)


async def test_no_tenant_attaches_the_file_of_another(store_url: str) -> None:
    opened = await open_store(store_url)
    owner, stranger = [(await issued(opened, name))[0] for name in ("owner", "stranger")]
    async with coding_server(opened) as (server, model):
        file = await server.sdk.with_options(api_key=owner).files.create(
            file=("secret.csv", b"canary-4711"), purpose="user_data"
        )
        with pytest.raises(NotFoundError, match="No such File object"):
            await run(
                server.sdk.with_options(api_key=stranger),
                LIST,
                {"type": "input_file", "file_id": file.id},
                stream=True,
            )

    assert "canary-4711" not in str(model.requests)
