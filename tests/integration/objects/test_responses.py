"""What was stored, as clients get it back."""

from typing import Any

import pytest

from antiphon.errors import ClientError
from antiphon.gateway import Gateway
from antiphon.protocol.validation.queries import decode_input_items_query
from antiphon.runs.engine import Engine
from tests.support.engine import ask, called, engine, said
from tests.support.replay import delta

IMAGE = {"type": "input_image", "image_url": "data:image/png;base64,iVBORw0KGgo=", "detail": "auto"}
TOOL = {"type": "function", "name": "look", "parameters": {"type": "object", "properties": {}}, "strict": False}


async def page(made: Engine, response_id: str, **query: str) -> dict[str, Any]:
    asked = {name: value.split(",") for name, value in query.items()}
    return await Gateway(made).responses.input_items("", response_id, decode_input_items_query(asked))


def ids(page: dict[str, Any]) -> list[str]:
    return [item["id"] for item in page["data"]]


async def numbered(count: int = 25) -> tuple[Engine, str]:
    """A response made from items `msg_0` and so on."""
    made, _ = engine(said("fine"))
    items = [{"role": "user", "content": str(number), "id": f"msg_{number}"} for number in range(count)]
    return made, (await ask(made, input=items))["id"]


async def test_a_page_is_twenty_items_newest_first() -> None:
    made, response_id = await numbered()
    first = await page(made, response_id)

    assert ids(first) == [f"msg_{number}" for number in range(24, 4, -1)]
    assert (first["first_id"], first["last_id"], first["has_more"]) == ("msg_24", "msg_5", True)


@pytest.mark.parametrize("order", ["asc", "desc"])
@pytest.mark.parametrize("limit", [1, 7, 24, 25, 26, 100])
async def test_pages_one_after_the_other_hold_every_item_once(order: str, limit: int) -> None:
    made, response_id = await numbered()
    seen: list[str] = []
    query = {"order": order, "limit": str(limit)}
    while True:
        one = await page(made, response_id, **query)
        seen += ids(one)
        if not one["has_more"]:
            break
        query["after"] = one["last_id"]

    expected = [f"msg_{number}" for number in range(25)]
    assert seen == (expected if order == "asc" else expected[::-1])


async def test_before_and_after_bound_a_page_in_the_order_asked_for() -> None:
    made, response_id = await numbered(9)

    assert ids(await page(made, response_id, order="asc", after="msg_2", before="msg_5")) == ["msg_3", "msg_4"]
    assert ids(await page(made, response_id, order="desc", after="msg_5", before="msg_2")) == ["msg_4", "msg_3"]
    empty = await page(made, response_id, order="asc", after="msg_5", before="msg_2")
    assert (empty["data"], empty["first_id"], empty["last_id"], empty["has_more"]) == ([], None, None, False)


@pytest.mark.parametrize("name", ["after", "before"])
async def test_a_bound_that_is_no_item_is_refused(name: str) -> None:
    made, response_id = await numbered(2)
    with pytest.raises(ClientError) as caught:
        await page(made, response_id, **{name: "msg_x" * 100})

    assert (caught.value.status, caught.value.code, caught.value.param) == (400, "invalid_value", name)
    assert len(caught.value.message) < 200


async def test_the_items_of_a_chain_are_everything_the_model_saw() -> None:
    made, _ = engine(said("one"), said("two"))
    first = await ask(made, input="a")
    second = await ask(made, input="b", previous_response_id=first["id"])
    listed = await page(made, second["id"], order="asc")

    assert [(item["role"], item["content"][0]["text"]) for item in listed["data"]] == [
        ("user", "a"),
        ("assistant", "one"),
        ("user", "b"),
    ]


async def test_the_items_of_a_chain_whose_head_was_deleted_are_its_own() -> None:
    made, _ = engine(said("one"), said("two"))
    first = await ask(made, input="a")
    second = await ask(made, input="b", previous_response_id=first["id"])
    await Gateway(made).responses.delete("", first["id"])

    assert [item["content"][0]["text"] for item in (await page(made, second["id"]))["data"]] == ["b"]


async def test_image_urls_are_shown_to_those_who_ask() -> None:
    made, _ = engine(said("A cat."))
    response = await ask(made, input=[{"role": "user", "content": [IMAGE, {"type": "input_text", "text": "?"}]}])

    (hidden,) = (await page(made, response["id"]))["data"]
    (shown,) = (await page(made, response["id"], include="message.input_image.image_url"))["data"]
    assert hidden["content"][0]["image_url"] is None
    assert shown["content"][0]["image_url"] == IMAGE["image_url"]


async def test_encrypted_content_is_shown_to_those_who_ask() -> None:
    signed = {"type": "reasoning.text", "text": "Hm.", "signature": "c2ln"}
    made, _ = engine([delta(reasoning_details=[signed]), *called()], said("!"), dialect="openrouter")
    first = await ask(made, tools=[TOOL])
    output = {"type": "function_call_output", "call_id": first["output"][1]["call_id"], "output": "4"}
    second = await ask(made, input=[output], previous_response_id=first["id"], tools=[TOOL])

    wanted = "reasoning.encrypted_content"
    assert "encrypted_content" not in (await Gateway(made).responses.retrieve("", first["id"], ()))["output"][0]
    sealed = (await Gateway(made).responses.retrieve("", first["id"], {wanted}))["output"][0]["encrypted_content"]
    assert sealed
    listed = (await page(made, second["id"], order="asc", include=wanted))["data"]
    assert [item.get("encrypted_content") for item in listed] == [None, sealed, None, None]
    assert all("encrypted_content" not in item for item in (await page(made, second["id"]))["data"])


async def test_a_retrieved_response_has_its_text_beside() -> None:
    made, _ = engine([delta(reasoning_content="Hm."), *said("Once ", "upon")])
    response = await ask(made)
    got = await Gateway(made).responses.retrieve("", response["id"], ())

    assert got.pop("output_text") == "Once upon"
    response.pop("output_text", None)
    assert got == response


async def test_what_is_not_there_is_404() -> None:
    made, _ = engine()
    for act in (
        Gateway(made).responses.retrieve("", "resp_x", ()),
        Gateway(made).responses.delete("", "resp_x"),
        page(made, "resp_x"),
    ):
        with pytest.raises(ClientError) as caught:
            await act
        assert (caught.value.status, caught.value.code, caught.value.param) == (404, None, None)
        assert caught.value.message == "Response with id 'resp_x' not found."


async def test_deleting_says_so_once() -> None:
    made, _ = engine(said("x"))
    response = await ask(made)

    assert await Gateway(made).responses.delete("", response["id"]) == {
        "id": response["id"],
        "object": "response",
        "deleted": True,
    }
    with pytest.raises(ClientError):
        await Gateway(made).responses.delete("", response["id"])
