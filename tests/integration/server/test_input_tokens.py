"""`POST /v1/responses/input_tokens` over HTTP."""

import pytest
from openai import BadRequestError

from antiphon.upstream.demo.backend import DemoBackend
from tests.support.server import RunningServer, serve


async def test_the_sdk_counts_what_a_response_then_uses() -> None:
    async with serve(DemoBackend()) as server:
        counted = await server.sdk.responses.input_tokens.count(
            model="demo", input="Please say hello."
        )
        used = await server.sdk.responses.create(model="demo", input="Please say hello.")

        assert (counted.object, counted.input_tokens) == (
            "response.input_tokens",
            used.usage.input_tokens,
        )
        raw = await server.sdk.responses.input_tokens.with_raw_response.count(
            model="demo", input="Hi"
        )
        assert raw.headers["antiphon-token-count"] == "exact"


async def test_a_conversation_counts_and_stays_as_it_is() -> None:
    async with serve(DemoBackend()) as server:
        talk = await server.sdk.conversations.create(
            items=[{"role": "user", "content": "one two three"}]
        )

        counted = await server.sdk.responses.input_tokens.count(
            model="demo", input="four", conversation=talk.id
        )

        assert counted.input_tokens == 4
        assert len((await server.sdk.conversations.items.list(talk.id)).data) == 1


async def test_an_unknown_family_is_estimated(server: RunningServer) -> None:
    url = f"{server.url}/responses/input_tokens"
    async with server.http.post(url, json={"model": "m", "input": "Hi"}) as response:
        assert response.headers["antiphon-token-count"] == "estimate"
        assert await response.json() == {"object": "response.input_tokens", "input_tokens": 8}


async def test_what_a_response_would_be_refused_for_is_refused(server: RunningServer) -> None:
    with pytest.raises(BadRequestError) as caught:
        await server.sdk.responses.input_tokens.count(input="Hi")
    assert (caught.value.code, caught.value.param) == ("missing_required_parameter", "model")
    with pytest.raises(BadRequestError) as caught:
        await server.sdk.responses.input_tokens.count(model="nobody", input="Hi")
    assert caught.value.code == "model_not_found"
    with pytest.raises(BadRequestError) as caught:
        await server.sdk.responses.input_tokens.count(
            model="m", input="Hi", previous_response_id="resp_none"
        )
    assert caught.value.code == "previous_response_not_found"
