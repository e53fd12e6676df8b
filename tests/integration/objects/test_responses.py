"""What was stored, as clients get it back."""

from typing import Any

import pytest

from antiphon.errors import ClientError
from antiphon.gateway import Gateway
from antiphon.gateway.parts import Parts
from antiphon.protocol.validation.queries import decode_input_items_query
from tests.support.parts import called, query, scripted_parts, stated
from tests.support.replay import delta

IMAGE = {"type": "input_image", "image_url": "data:image/png;base64,iVBORw0KGgo=", "detail": "auto"}
TOOL = {
    "type": "function",
    "name": "look",
    "parameters": {"type": "object", "properties": {}},
    "strict": False,
}


async def page(created: Parts, response_id: str, **query: str) -> dict[str, Any]:
    requested = {name: value.split(",") for name, value in query.items()}
    return await Gateway(created).responses.input_items(
        "", response_id, decode_input_items_query(requested)
    )


def ids(page: dict[str, Any]) -> list[str]:
    return [item["id"] for item in page["data"]]


async def numbered(count: int = 25) -> tuple[Parts, str]:
    """A response made from items `msg_0` and so on."""
    created, _ = scripted_parts(stated("fine"))
    items = [
        {"role": "user", "content": str(number), "id": f"msg_{number}"} for number in range(count)
    ]
    return created, (await query(created, input=items))["id"]


async def test_a_page_is_twenty_items_newest_first() -> None:
    created, response_id = await numbered()
    first = await page(created, response_id)

    assert ids(first) == [f"msg_{number}" for number in range(24, 4, -1)]
    assert (first["first_id"], first["last_id"], first["has_more"]) == ("msg_24", "msg_5", True)


@pytest.mark.parametrize("order", ["asc", "desc"])
@pytest.mark.parametrize("limit", [1, 7, 24, 25, 26, 100])
async def test_pages_one_after_the_other_hold_every_item_once(order: str, limit: int) -> None:
    created, response_id = await numbered()
    seen: list[str] = []
    query = {"order": order, "limit": str(limit)}
    while True:
        one = await page(created, response_id, **query)
        seen += ids(one)
        if not one["has_more"]:
            break
        query["after"] = one["last_id"]

    expected = [f"msg_{number}" for number in range(25)]
    assert seen == (expected if order == "asc" else expected[::-1])


async def test_before_and_after_limit_a_page_in_the_requested_order() -> None:
    created, response_id = await numbered(9)

    assert ids(await page(created, response_id, order="asc", after="msg_2", before="msg_5")) == [
        "msg_3",
        "msg_4",
    ]
    assert ids(await page(created, response_id, order="desc", after="msg_5", before="msg_2")) == [
        "msg_4",
        "msg_3",
    ]
    empty = await page(created, response_id, order="asc", after="msg_5", before="msg_2")
    assert (empty["data"], empty["first_id"], empty["last_id"], empty["has_more"]) == (
        [],
        None,
        None,
        False,
    )


@pytest.mark.parametrize("name", ["after", "before"])
async def test_a_bound_that_is_no_item_is_refused(name: str) -> None:
    created, response_id = await numbered(2)
    with pytest.raises(ClientError) as caught:
        await page(created, response_id, **{name: "msg_x" * 100})

    assert (caught.value.status, caught.value.code, caught.value.param) == (
        400,
        "invalid_value",
        name,
    )
    assert len(caught.value.message) < 200


async def test_the_items_of_a_chain_are_everything_the_model_saw() -> None:
    created, _ = scripted_parts(stated("one"), stated("two"))
    first = await query(created, input="a")
    second = await query(created, input="b", previous_response_id=first["id"])
    listed = await page(created, second["id"], order="asc")

    assert [(item["role"], item["content"][0]["text"]) for item in listed["data"]] == [
        ("user", "a"),
        ("assistant", "one"),
        ("user", "b"),
    ]


async def test_a_chain_with_a_deleted_head_has_only_its_own_items() -> None:
    created, _ = scripted_parts(stated("one"), stated("two"))
    first = await query(created, input="a")
    second = await query(created, input="b", previous_response_id=first["id"])
    await Gateway(created).responses.delete("", first["id"])

    assert [item["content"][0]["text"] for item in (await page(created, second["id"]))["data"]] == [
        "b"
    ]


async def test_image_urls_are_returned_on_request() -> None:
    created, _ = scripted_parts(stated("A cat."))
    response = await query(
        created, input=[{"role": "user", "content": [IMAGE, {"type": "input_text", "text": "?"}]}]
    )

    (hidden,) = (await page(created, response["id"]))["data"]
    (displayed,) = (await page(created, response["id"], include="message.input_image.image_url"))[
        "data"
    ]
    assert hidden["content"][0]["image_url"] is None
    assert displayed["content"][0]["image_url"] == IMAGE["image_url"]


async def test_encrypted_content_is_returned_on_request() -> None:
    signed = {"type": "reasoning.text", "text": "Hm.", "signature": "c2ln"}
    created, _ = scripted_parts(
        [delta(reasoning_details=[signed]), *called()], stated("!"), dialect="openrouter"
    )
    first = await query(created, tools=[TOOL])
    output = {
        "type": "function_call_output",
        "call_id": first["output"][1]["call_id"],
        "output": "4",
    }
    second = await query(created, input=[output], previous_response_id=first["id"], tools=[TOOL])

    wanted = "reasoning.encrypted_content"
    assert (
        "encrypted_content"
        not in (await Gateway(created).responses.retrieve("", first["id"], ()))["output"][0]
    )
    sealed = (await Gateway(created).responses.retrieve("", first["id"], {wanted}))["output"][0][
        "encrypted_content"
    ]
    assert sealed
    listed = (await page(created, second["id"], order="asc", include=wanted))["data"]
    assert [item.get("encrypted_content") for item in listed] == [None, sealed, None, None]
    plain = (await page(created, second["id"]))["data"]
    assert ["encrypted_content" in item for item in plain] == [False] * 4


async def test_a_retrieved_response_has_its_text_as_a_separate_field() -> None:
    created, _ = scripted_parts([delta(reasoning_content="Hm."), *stated("Once ", "upon")])
    response = await query(created)
    got = await Gateway(created).responses.retrieve("", response["id"], ())

    assert got.pop("output_text") == "Once upon"
    response.pop("output_text", None)
    assert got == response


async def test_what_is_not_there_is_404() -> None:
    created, _ = scripted_parts()
    for act in (
        Gateway(created).responses.retrieve("", "resp_x", ()),
        Gateway(created).responses.delete("", "resp_x"),
        page(created, "resp_x"),
    ):
        with pytest.raises(ClientError) as caught:
            await act
        assert (caught.value.status, caught.value.code, caught.value.param) == (404, None, None)
        assert caught.value.message == "Response with id 'resp_x' not found."


async def test_deleting_reports_success_once() -> None:
    created, _ = scripted_parts(stated("x"))
    response = await query(created)

    assert await Gateway(created).responses.delete("", response["id"]) == {
        "id": response["id"],
        "object": "response",
        "deleted": True,
    }
    with pytest.raises(ClientError):
        await Gateway(created).responses.delete("", response["id"])
