"""The system's resolver."""

import asyncio

import pytest

from antiphon.outbound.lookups import NOBODY, Lookups, lookup_turns
from tests.support.waiting import let_others_run


async def test_the_system_knows_this_machine() -> None:
    assert {"127.0.0.1", "::1"} & set(await Lookups(lookup_turns())("localhost", NOBODY))


@pytest.mark.parametrize("name", ["a" * 64 + ".", "ä" * 64])
async def test_what_can_be_no_name_is_not_known_either(name: str) -> None:
    with pytest.raises(OSError, match=r"\w"):
        await Lookups(lookup_turns())(name, NOBODY)


async def test_looking_up_does_not_stop_the_others() -> None:
    looking = asyncio.ensure_future(Lookups(lookup_turns())("localhost", NOBODY))
    await let_others_run()
    assert not looking.done()
    assert await looking
