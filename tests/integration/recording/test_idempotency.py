"""Which requests an `Idempotency-Key` takes for the same."""

import asyncio

import pytest

from antiphon.errors import ClientError
from antiphon.gateway import Gateway
from antiphon.recording import idempotency
from antiphon.recording.persistence import RequestIdentity
from antiphon.sizes import LARGE
from tests.support.parts import scripted_parts


async def test_the_same_body_on_another_path_is_another_request() -> None:
    created, _ = scripted_parts()
    body = b'{"metadata": {"a": "b"}}'
    first = await Gateway(created).idempotency.admit("", "key", "/v1/conversations", body, "conv_1")
    assert isinstance(first, RequestIdentity)
    with pytest.raises(ClientError) as refused:
        await Gateway(created).idempotency.admit("", "key", "/v1/responses", body, "resp_1")
    assert (refused.value.status, refused.value.code) == (422, "idempotency_key_reused")

    other = await Gateway(created).idempotency.admit("", "other", "/v1/responses", body, "resp_2")
    assert isinstance(other, RequestIdentity)
    assert created.process.leases == {first.response_id, other.response_id}


async def test_a_large_body_that_differs_is_another_request() -> None:
    created, _ = scripted_parts()
    one, other = (b'{"metadata": {"a": "%b"}}' % (letter * (LARGE + 1)) for letter in (b"x", b"y"))
    await Gateway(created).idempotency.admit("", "key", "/v1/responses", one, "resp_1")
    with pytest.raises(ClientError) as refused:
        await Gateway(created).idempotency.admit("", "key", "/v1/responses", other, "resp_2")

    assert refused.value.code == "idempotency_key_reused"


@pytest.mark.parametrize("size", [1, LARGE], ids=["small", "large"])
async def test_a_body_that_is_only_written_differently_is_the_same_request(
    size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(idempotency, "PATIENCE", 0.0)
    created, _ = scripted_parts()
    text = b"x" * size
    one = b'{"input":"%b","metadata":{"a":"1","b":"2"}}' % text
    other = b'{"metadata": {"b": "2", "a": "1"}, "input": "%b"}' % text
    await Gateway(created).idempotency.admit("", "key", "/v1/responses", one, "resp_1")
    with pytest.raises(ClientError) as refused:
        await Gateway(created).idempotency.admit("", "key", "/v1/responses", other, "resp_2")

    assert refused.value.code == "idempotency_in_progress"


async def test_the_same_request_waits_for_the_first_for_so_long_and_no_longer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(idempotency, "POLL_INTERVAL", 0.005)
    monkeypatch.setattr(idempotency, "PATIENCE", 0.02)
    created, _ = scripted_parts()
    first = await Gateway(created).idempotency.admit("", "key", "/v1/responses", b"{}", "resp_1")
    assert isinstance(first, RequestIdentity)
    with pytest.raises(ClientError) as refused:
        async with asyncio.timeout(30):
            await Gateway(created).idempotency.admit("", "key", "/v1/responses", b"{}", "resp_2")

    assert (refused.value.status, refused.value.code) == (409, "idempotency_in_progress")
    assert created.process.leases == {first.response_id}
