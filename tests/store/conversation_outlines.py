"""Promises about what lists of conversations show of their responses."""

from msgspec.structs import replace

from antiphon.ids import new_id
from antiphon.storage.operations import conversation_outlines, conversations, leases
from antiphon.storage.records.jobs import LockResult
from antiphon.storage.records.responses import StoredConversation, StoredResponse
from antiphon.storage.store import Store
from tests.store.facts import new_facts
from tests.store.making import T, hold, new_items, new_response

WORKER = "outlines"


async def _answered(store: Store, conversation: str, cost: int | None) -> StoredResponse:
    """Store a response in a conversation, with facts."""
    created = replace(
        new_response(new_items("question"), new_items("answer")), conversation_id=conversation
    )
    facts = new_facts(
        created.id, model="m", conversation_id=conversation, input="question", cost=cost
    )
    await store.write(leases.beat, WORKER)
    outcome = await store.write(leases.hold, T, conversation, created.id, WORKER)
    hold(outcome is LockResult.DONE, f"the conversation cannot be held: {outcome}")
    created = replace(created, facts=facts)
    hold(await store.save(created, append=True) is True, "a response did not append")
    return created


async def _sum_their_responses(store: Store) -> None:
    """A conversation has an outline with its first items and the sums of its responses, for its
    tenant only.
    """
    first = new_items("first")
    one = StoredConversation(new_id("conv"), 1000, b"{}", T)
    await store.write(conversations.create, one, first)
    responses = [await _answered(store, one.id, cost) for cost in (None, 5, 7)]
    ids = [one.id, new_id("conv")]
    for tenant in (T, None):
        found = await store.read(conversation_outlines.outlines, tenant, ids)
        outline = found[one.id]
        hold(outline.items[0] == first[0].body, f"the first item is {outline.items[:1]}")
        sums = (outline.responses, outline.cost, outline.model, outline.words)
        hold(sums == (3, 12, "m", "question"), f"the sums are {sums}")
        hold(found[ids[1]].responses == 0, "an unknown conversation has responses")
    foreign = await store.read(conversation_outlines.outlines, new_id("tenant"), ids)
    hold(foreign[one.id].responses == 0, "another tenant sees the responses")
    hold(foreign[one.id].items == [], "another tenant sees the items")
    hold(await store.read(conversation_outlines.outlines, T, []) == {}, "no ids have an outline")

    answers = [response.output[0].id for response in responses]
    expected = {item: each.id for item, each in zip(answers, responses, strict=True)}
    added = await store.read(conversation_outlines.responses_of_items, T, one.id, answers)
    hold(added == expected, f"the items are those of {added}")
    theirs = await store.read(
        conversation_outlines.responses_of_items, new_id("tenant"), one.id, answers
    )
    hold(theirs == {}, "another tenant sees the responses of items")


async def _have_an_owner(store: Store) -> None:
    """The owner of a conversation is found by itself and by the operator."""
    one = StoredConversation(new_id("conv"), 1000, b"{}", T)
    await store.write(conversations.create, one, ())
    owners = [
        await store.read(conversation_outlines.owner, tenant, one.id)
        for tenant in (T, None, new_id("tenant"))
    ]
    hold(owners == [T, T, None], f"the owners are {owners}")
    hold(
        await store.read(conversation_outlines.owner, None, new_id("conv")) is None,
        "an unknown conversation has an owner",
    )
