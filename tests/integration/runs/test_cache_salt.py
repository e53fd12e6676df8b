"""Tenants of one backend whose prefix cache is kept apart by `cache_salt`."""

from typing import Any

import msgspec
import pytest

from antiphon.gateway import Gateway, RequestIdentity
from antiphon.protocol.validation.validate import decode_request
from antiphon.sizes import LARGE
from antiphon.upstream.options import BackendOptions
from tests.support.parts import plain, scripted_parts


class Sunk:
    """Where a passed answer goes, unread."""

    async def begin(self, status: int, backend: str, headers: Any) -> None:
        assert status == 200

    async def write(self, part: bytes, *, more_body: bool = True) -> None:
        pass


async def salts(*tenants: str, is_on: bool = True) -> list[Any]:
    created, backend = scripted_parts(*[plain()] * len(tenants), dialect="vllm")
    created.models.backends[0].update(options=BackendOptions(cache_salt=is_on))
    request = decode_request(msgspec.json.encode({"model": "m", "input": "Hi"}))
    for tenant in tenants:
        run = await Gateway(created).create(request, RequestIdentity(tenant=tenant))
        await run.result()
    return [body.get("cache_salt") for body in backend.requests]


async def test_each_tenant_has_a_salt_of_its_own_which_is_not_its_name() -> None:
    first, second, again = await salts("a-tenant", "b-tenant", "a-tenant")
    assert first == again != second
    assert "tenant" not in first + second


async def test_without_the_setting_there_is_no_salt() -> None:
    assert await salts("a", is_on=False) == [None]


@pytest.mark.parametrize("size", [0, LARGE + 1])
async def test_chat_completions_have_the_same_salt_whatever_the_client_sends(
    size: int,
) -> None:
    created, backend = scripted_parts(plain(), dialect="vllm")
    created.models.backends[0].update(options=BackendOptions(cache_salt=True))
    body = {
        "model": "m",
        "messages": [{"role": "user", "content": "Hi"}],
        "cache_salt": "another tenant's",
    }

    passing = await Gateway(created).passing("/chat/completions", body, "a", None, size)
    await passing.run(Sunk())

    assert [request["cache_salt"] for request in backend.requests] == await salts("a")
