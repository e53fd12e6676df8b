"""The system's resolver."""

import asyncio

import pytest

from antiphon.outbound.lookups import NO_CALLER, Lookups, lookup_turns
from tests.support.waiting import let_others_run


async def test_the_system_knows_this_machine() -> None:
    assert {"127.0.0.1", "::1"} & set(await Lookups(lookup_turns())("localhost", NO_CALLER))


@pytest.mark.parametrize("name", ["a" * 64 + ".", "ä" * 64])
async def test_what_can_be_no_name_is_not_known_either(name: str) -> None:
    with pytest.raises(OSError, match=r"\w"):
        await Lookups(lookup_turns())(name, NO_CALLER)


async def test_a_lookup_does_not_block_the_others() -> None:
    polling = asyncio.ensure_future(Lookups(lookup_turns())("localhost", NO_CALLER))
    await let_others_run()
    assert not polling.done()
    assert await polling
