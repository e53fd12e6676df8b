"""Names of API keys beside responses: those of new keys at once, and no look at the store for each
list.
"""

from antiphon.console.summaries import AGAIN, FRESH, KeyNames
from tests.support.keys import issued
from tests.support.server import RunningServer


async def test_the_name_of_a_new_key_is_read_as_soon_as_a_response_has_its_id(
    stateful: RunningServer,
) -> None:
    time = 1000.0
    names = KeyNames(stateful.parts.store, lambda: time)
    assert await names.load() == {}
    _, key = await issued(stateful.parts.store, "acme")
    assert await names.load([key.id]) == {}
    time += AGAIN
    assert await names.load([""]) == {}
    assert await names.load([key.id]) == {key.id: key.name}


async def test_names_are_read_again_after_a_while(stateful: RunningServer) -> None:
    time = 1000.0
    names = KeyNames(stateful.parts.store, lambda: time)
    await names.load()
    _, key = await issued(stateful.parts.store, "acme")
    time += FRESH
    assert await names.load() == {key.id: key.name}
