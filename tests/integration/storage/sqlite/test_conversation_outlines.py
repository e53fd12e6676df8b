"""A list of conversations costs by its conversations, and not by all that is stored."""

from pathlib import Path

from antiphon.storage.operations import conversation_outlines, conversations, facts, responses
from antiphon.storage.records.responses import StoredConversation
from antiphon.storage.sqlite.store import SqliteStore
from tests.store.facts import new_facts
from tests.store.making import T, new_items, new_response
from tests.support.sqlite_steps import counted


async def _steps(store: SqliteStore) -> int:
    """Return how many tens of instructions the outline of a conversation needs."""
    await store.write(
        conversations.create, StoredConversation("conv_1", 1000, b"{}", T), new_items("a", "b")
    )
    steps = counted(store)
    found = await store.read(conversation_outlines.outlines, T, ["conv_1"])
    count = len(steps)
    await store.write(conversations.delete, T, "conv_1")
    assert len(found["conv_1"].items) == 2
    return count


async def test_outlines_read_no_other_conversation_and_no_other_response(tmp_path: Path) -> None:
    store = SqliteStore.open(f"sqlite://{tmp_path}/antiphon.db")
    alone = await _steps(store)
    await store.write(facts.put_new, [new_facts() for _ in range(2_000)])
    for number in range(200):
        await store.write(responses.save, new_response(new_items("c"), new_items("d")))
        other = StoredConversation(f"conv_0{number}", 1000, b"{}", T)
        await store.write(conversations.create, other, new_items("e"))
    assert await _steps(store) <= alone + 5
    await store.close()
