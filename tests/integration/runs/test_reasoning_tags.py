"""Reasoning in tags, unless the request mentions them."""

from typing import Any

import pytest

from tests.support.parts import plain, query, scripted_parts, stated, stream

ANSWER = "<thinking>Moon.</thinking>Tide."
QUOTE = "Think in <thinking> tags."
OWN = [
    {"role": "user", "content": "Hi"},
    {"role": "assistant", "content": "<thinking>Sun.</thinking>Noon."},
    {"role": "user", "content": "And now?"},
]


@pytest.mark.parametrize("is_stream", [False, True])
@pytest.mark.parametrize(
    ("request_of_it", "is_reasoning"),
    [
        ({"input": "Hi"}, True),
        ({"input": OWN}, True),
        ({"input": QUOTE}, False),
        ({"input": "Hi", "instructions": QUOTE}, False),
        (
            {"input": [{"role": "developer", "content": QUOTE}, {"role": "user", "content": "Hi"}]},
            False,
        ),
    ],
)
async def test_tags_are_text_only_if_the_request_mentions_them(
    request_of_it: dict[str, Any], is_reasoning: bool, is_stream: bool
) -> None:
    created, _ = scripted_parts(
        stated("<thin", "king>Moon.</thi", "nking>Tide.") if is_stream else plain(ANSWER)
    )
    response = (
        (await stream(created, **request_of_it))[-1]["response"]
        if is_stream
        else await query(created, **request_of_it)
    )
    assert [item["type"] for item in response["output"]] == ["reasoning", "message"][
        not is_reasoning :
    ]
    assert response["output"][-1]["content"][0]["text"] == ("Tide." if is_reasoning else ANSWER)


async def test_a_chain_that_mentioned_a_tag_has_it_as_text_later_too() -> None:
    created, _ = scripted_parts(stated(ANSWER), stated(ANSWER))
    first = await query(created, input=QUOTE)
    second = await query(created, input="Again.", previous_response_id=first["id"])
    assert second["output"][0]["content"][0]["text"] == ANSWER
