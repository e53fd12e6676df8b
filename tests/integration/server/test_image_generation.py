"""Images that a model makes, over HTTP and WebSocket, with the official SDK, on both stores."""

import asyncio
import base64
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import pytest
from aiohttp import web
from openai import AsyncOpenAI, BadRequestError, NotFoundError

from antiphon.config import Settings
from antiphon.storage.operations import api_keys, files, responses
from antiphon.storage.operations import sizes as stored_sizes
from antiphon.testing import assert_event_stream
from antiphon.tools.base import ToolOutcome, Use
from antiphon.tools.images.content import inspect
from antiphon.upstream.scripted import ScriptedBackend
from tests.support.images_server import ImagesBackend, images_server
from tests.support.keys import bearing, issue
from tests.support.parts import Chunks, called, stated
from tests.support.replay import delta
from tests.support.server import RunningServer, serve
from tests.support.socket import talk

TOOL: Any = {"type": "image_generation", "partial_images": 2}
CALL = called("image_generation", '{"prompt": "a red circle"}')
EDIT = called("image_generation", '{"prompt": "make it blue", "action": "edit"}')
DONE = stated("Here it is.")


@asynccontextmanager
async def serving(
    store: str,
    *answers: Any,
    images: ImagesBackend | None = None,
    seconds: float = 30,
    **options: Any,
) -> AsyncIterator[tuple[RunningServer, ImagesBackend, ScriptedBackend]]:
    model = ScriptedBackend(list(answers), models=["m"])
    async with AsyncExitStack() as stack:
        images = images or await stack.enter_async_context(images_server())
        settings = Settings(
            images_backend=images.url, images_model="painter", images_timeout=seconds
        )
        options |= {"settings": settings, "has_tools": True}
        server = await stack.enter_async_context(serve(model, store=store, **options))
        yield server, images, model


async def create(sdk: AsyncOpenAI, **body: Any) -> dict[str, Any]:
    response = await sdk.responses.create(
        **{"model": "m", "input": "Draw", "tools": [TOOL], **body}
    )
    async with asyncio.timeout(30):
        while response.status in ("queued", "in_progress"):
            response = await sdk.responses.retrieve(response.id)
    return response.to_dict()


def image_of(response: dict[str, Any]) -> dict[str, Any]:
    (item,) = [item for item in response["output"] if item["type"] == "image_generation_call"]
    return item  # type: ignore[no-any-return]


async def test_an_image_is_created_displayed_again_and_listed(store_url: str) -> None:
    async with serving(store_url, CALL, DONE, DONE) as (server, images, model):
        created = await create(server.sdk)
        again = (await server.sdk.responses.retrieve(created["id"])).to_dict()
        following = await create(server.sdk, input="Thanks", previous_response_id=created["id"])
        listed = (await server.sdk.responses.input_items.list(following["id"])).data

    item = image_of(created)
    picture = inspect(base64.b64decode(item["result"]))
    assert (picture.format, picture.size) == ("png", "256x256")
    assert {name: value for name, value in item.items() if name not in ("id", "result")} == {
        "type": "image_generation_call",
        "status": "completed",
        "action": "generate",
        "background": "opaque",
        "output_format": "png",
        "quality": "low",
        "revised_prompt": "a red circle",
        "size": "256x256",
    }
    assert again["output"] == created["output"]
    assert [one.to_dict() for one in listed if one.type == "image_generation_call"] == [item]
    assert created["tool_usage"]["image_gen"] == {
        "input_tokens": 3,
        "input_tokens_details": {"image_tokens": 0, "text_tokens": 3},
        "output_tokens": 64,
        "output_tokens_details": {"image_tokens": 64, "text_tokens": 0},
        "total_tokens": 67,
    }
    assert item["result"] not in str(model.requests[-1])
    assert "Made image 1" in str(model.requests[-1])
    assert images.requests[0][1]["model"] == "painter"


async def test_a_stream_shows_partial_images_and_is_replayed_whole(store_url: str) -> None:
    async with serving(store_url, CALL, DONE, CALL, DONE) as (server, _, __):
        stream = await server.sdk.responses.create(
            model="m", input="Draw", tools=[TOOL], stream=True
        )
        events = [event.to_dict() async for event in stream]
        background = await server.sdk.responses.create(
            model="m", input="Draw", tools=[TOOL], stream=True, background=True
        )
        logged = [event.to_dict() async for event in background]
        response_id = logged[0]["response"]["id"]  # type: ignore[index]
        replayed = [
            event.to_dict()
            async for event in await server.sdk.responses.retrieve(response_id, stream=True)
        ]

    for one in (events, logged, replayed):
        assert_event_stream(one)
        kinds = [
            event["type"] for event in one if "image" in event["type"] or "item" in event["type"]
        ]  # type: ignore[operator]
        assert kinds[:7] == [
            "response.output_item.added",
            "response.image_generation_call.in_progress",
            "response.image_generation_call.generating",
            "response.image_generation_call.partial_image",
            "response.image_generation_call.partial_image",
            "response.image_generation_call.completed",
            "response.output_item.done",
        ]
        final = image_of(one[-1]["response"])  # type: ignore[arg-type]
        assert inspect(base64.b64decode(final["result"])).size == "256x256"
    assert logged == replayed


async def test_edits_change_the_newest_image_or_the_one_that_the_model_names(
    store_url: str,
) -> None:
    by_number = called("image_generation", '{"prompt": "x", "edit_of": 1}')
    async with serving(store_url, CALL, DONE, EDIT, DONE, by_number, DONE) as (server, images, _):
        first = await create(server.sdk)
        second = await create(server.sdk, previous_response_id=first["id"], input="Bluer")
        third = await create(server.sdk, previous_response_id=second["id"], input="The first one")

    sizes = [len(base64.b64decode(image_of(one)["result"])) for one in (first, second, third)]
    assert [path for path, _ in images.requests] == [
        "/images/generations",
        "/images/edits",
        "/images/edits",
    ]
    assert [fields.get("image") for _, fields in images.requests] == [None, sizes[0], sizes[0]]
    assert image_of(second)["action"] == "edit"


async def test_an_image_is_found_by_its_id_alone_and_by_no_other_tenant(store_url: str) -> None:
    async with serving(store_url, CALL, DONE, EDIT, DONE) as (server, images, _):
        created = await create(server.sdk)
        item_id = image_of(created)["id"]
        message: Any = {"role": "user", "content": "Now blue"}
        bare: Any = {"type": "image_generation_call", "id": item_id}
        changed = await create(server.sdk, input=[bare, message])
        with pytest.raises(Exception, match="not found"):
            await create(server.sdk, input=[{**bare, "id": "ig_none"}, message])
        displayed = (await server.sdk.responses.input_items.list(changed["id"], order="asc")).data
        await server.sdk.responses.delete(created["id"])
        later = (await server.sdk.responses.input_items.list(changed["id"], order="asc")).data

    assert images.requests[-1][1]["image"] == len(base64.b64decode(image_of(created)["result"]))
    assert displayed[0].to_dict()["result"] == image_of(created)["result"]
    assert later[0].to_dict() == displayed[0].to_dict()


async def test_an_image_lives_as_long_as_a_response_or_a_conversation_has_it(
    store_url: str,
) -> None:
    async with serving(store_url, CALL, DONE) as (server, _, __):
        sdk = server.sdk
        parts = server.parts
        conversation = (await sdk.conversations.create()).id
        before = await parts.store.read(stored_sizes.stored_bytes, "")
        created = await create(sdk, conversation=conversation)
        assert await parts.store.read(stored_sizes.stored_bytes, "") > before
        await sdk.responses.delete(created["id"])
        await parts.objects.files.get().delete_blobs(
            await parts.store.write(files.claim_stale, 100)
        )
        items = (await sdk.conversations.items.list(conversation)).data
        assert [
            one.to_dict().get("result") for one in items if one.type == "image_generation_call"
        ] == [image_of(created)["result"]]
        await sdk.conversations.items.delete(image_of(created)["id"], conversation_id=conversation)
        assert len(await parts.store.write(files.claim_stale, 100)) == 1


async def test_without_storage_the_item_brings_its_image_itself(store_url: str) -> None:
    async with serving(store_url, CALL, DONE, EDIT, DONE) as (server, images, _):
        created = await create(server.sdk, store=False)
        await create(
            server.sdk,
            store=False,
            input=[*created["output"], {"role": "user", "content": "Bluer"}],
        )
        blobs = await server.parts.store.write(files.claim_stale, 100)

    assert images.requests[-1][1]["image"] == len(base64.b64decode(image_of(created)["result"]))
    assert blobs == []


async def test_an_edit_without_an_image_fails_with_the_reason() -> None:
    async with serving("sqlite://", EDIT, DONE) as (server, images, model):
        created = await create(server.sdk, tools=[{"type": "image_generation", "action": "edit"}])

    assert (image_of(created)["status"], image_of(created)["result"]) == ("failed", None)
    assert image_of(created)["error"]["param"] == "action"
    assert "no image to edit" in str(model.requests[-1])
    assert images.requests == []


@pytest.mark.parametrize(
    ("tool", "param"),
    [
        ({"size": "large"}, "tools[0].size"),
        ({"quality": "best"}, "tools[0].quality"),
        ({"partial_images": 4}, "tools[0].partial_images"),
        ({"output_compression": 101}, "tools[0].output_compression"),
        ({"background": "transparent", "output_format": "jpeg"}, "tools[0].background"),
        ({"input_image_mask": {}}, "tools[0].input_image_mask.image_url"),
    ],
)
async def test_fields_that_make_no_sense_are_refused_by_name(tool: Any, param: str) -> None:
    async with serving("sqlite://") as (server, _, __):
        with pytest.raises(BadRequestError) as refused:
            await create(server.sdk, tools=[{"type": "image_generation", **tool}])
    assert refused.value.param == param


async def test_the_tool_is_echoed_with_its_defaults_and_can_be_demanded() -> None:
    async with serving("sqlite://", CALL, DONE) as (server, _, model):
        tool: Any = {"type": "image_generation", "quality": "low", "size": "512x512"}
        created = await create(server.sdk, tools=[tool], tool_choice={"type": "image_generation"})

    assert created["tools"] == [
        {
            "type": "image_generation",
            "background": "auto",
            "moderation": "auto",
            "n": 1,
            "output_compression": 100,
            "output_format": "png",
            "quality": "low",
            "size": "512x512",
        }
    ]
    assert model.requests[0]["tool_choice"] == {
        "type": "function",
        "function": {"name": "image_generation"},
    }
    assert model.requests[1].get("tool_choice", "auto") == "auto"
    assert image_of(created)["size"] == "512x512"


async def test_no_tenant_reaches_the_image_of_another() -> None:
    async with serving("sqlite://", CALL, DONE, EDIT, DONE, EDIT, DONE) as (server, images, _):
        keys = [await issue(server.parts.store, tenant) for tenant in ("canary", "other")]
        canary, other = (server.sdk.with_options(api_key=key) for key in keys)
        created = await create(canary)
        stored = await server.parts.store.read(responses.load, "canary", created["id"])
        assert stored is not None
        reference = json.loads(stored.output[0].body)["result"]
        message: Any = {"role": "user", "content": "Bluer"}
        with pytest.raises(NotFoundError):
            await create(
                other,
                input=[{"type": "image_generation_call", "id": image_of(created)["id"]}, message],
            )
        forged: Any = {
            "type": "image_generation_call",
            "id": "ig_1",
            "status": "completed",
            "result": reference,
        }
        tried = await create(other, input=[forged, message])
        displayed = (await other.responses.input_items.list(tried["id"])).data
        assert len(images.requests) == 1
        assert image_of(tried)["status"] == "failed"
        assert [
            one.to_dict()["result"] for one in displayed if one.type == "image_generation_call"
        ] == [None]
        await other.responses.delete(tried["id"])
        again = (await canary.responses.retrieve(created["id"])).to_dict()
        assert again["output"] == created["output"]


async def test_images_come_over_a_websocket() -> None:
    async with (
        serving("sqlite://", CALL, DONE, EDIT, DONE) as (server, images, _),
        talk(server) as socket,
    ):
        events = await socket.create("Draw", tools=[TOOL], store=False)
        first = events[-1]["response"]
        second = await socket.created(
            "Bluer", tools=[TOOL], store=False, previous_response_id=first["id"]
        )

    assert sum(event["type"].endswith("partial_image") for event in events) == 2
    assert image_of(second)["action"] == "edit"
    assert images.requests[-1][1]["image"] == len(base64.b64decode(image_of(first)["result"]))


def several(*prompts: str) -> Chunks:
    """A streamed answer that makes several images."""
    calls = [
        {
            "index": n,
            "id": f"c{n}",
            "type": "function",
            "function": {"name": "image_generation", "arguments": arguments},
        }
        for n, arguments in enumerate(json.dumps({"prompt": prompt}) for prompt in prompts)
    ]
    return [*(delta(tool_calls=[call]) for call in calls), delta("tool_calls")]


async def test_images_of_one_answer_are_numbered_as_their_calls_stand(
    store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    is_last_created = asyncio.Event()

    async def answer(request: web.Request, fields: dict[str, Any]) -> web.Response | None:
        if fields["prompt"] == "refused":
            return web.json_response({"error": {"message": "No."}}, status=400)
        if fields["prompt"] == "first":
            await asyncio.wait_for(is_last_created.wait(), 30)
        return None

    by_number = called("image_generation", '{"prompt": "x", "edit_of": 3}')
    missing = called("image_generation", '{"prompt": "x", "edit_of": 2}')
    calls = several("first", "refused", "last of three")
    async with serving(store_url, calls, DONE, by_number, DONE, missing, DONE) as (
        server,
        images,
        model,
    ):
        images.handler = answer
        tool: Any = server.parts.run.toolset.images
        run = tool.run

        async def noted(use: Use) -> ToolOutcome:
            result: ToolOutcome = await run(use)
            if use.arguments["prompt"] == "last of three":
                is_last_created.set()
            return result

        monkeypatch.setattr(tool, "run", noted)
        first = await create(server.sdk, tools=[{"type": "image_generation"}])
        second = await create(server.sdk, previous_response_id=first["id"])
        third = await create(server.sdk, previous_response_id=second["id"])

    one, _, three = (item for item in first["output"] if item["type"] == "image_generation_call")
    results = [
        message["content"] for message in model.requests[1]["messages"] if message["role"] == "tool"
    ]
    edits = [fields["image"] for path, fields in images.requests if path == "/images/edits"]
    assert [result[:14] for result in results] == [
        "Made image 1 (",
        "The image was ",
        "Made image 3 (",
    ]
    assert edits == [len(base64.b64decode(three["result"]))]
    assert "Made image 4 (" in str(model.requests[3])
    assert image_of(third)["error"]["message"].startswith("Image 2 was not made")
    assert one["result"] != three["result"]


async def test_a_key_is_charged_the_tokens_that_the_images_server_reports() -> None:
    async with serving("sqlite://", CALL, DONE) as (server, _, __):
        key = bearing(await issue(server.parts.store))
        body = {"model": "m", "input": "Draw", "tools": [TOOL]}
        assert (await server.post("/responses", json=body, headers=key))[0] == 200
        await server.parts.jobs.meter.settle()
        rows = await server.parts.store.read(api_keys.usage, None, 0, 2**40, ("model",))

    (painter,) = (row for row in rows if row.model == "painter")
    assert (painter.requests, painter.input_tokens, painter.output_tokens) == (0, 3, 64)
    assert sum(row.requests for row in rows) == 1
