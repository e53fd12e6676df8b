"""Promises about facts of responses."""

import time
from typing import Any

from msgspec.structs import replace
from msgspec.structs import replace as replace_fields

from antiphon.ids import new_id
from antiphon.storage.operations import facts as stored_facts
from antiphon.storage.operations import facts_page, jobs, responses
from antiphon.storage.records.facts import Facts, FactsQuery
from antiphon.storage.records.jobs import Job
from antiphon.storage.store import Store
from antiphon.storage.upkeep import purge
from tests.store.making import T, hold, new_items, new_response

NOW = int(time.time() * 1000)

DEFAULTS: dict[str, Any] = dict.fromkeys(Facts.__struct_fields__, "") | dict.fromkeys(
    (name for name, kind in Facts.__annotations__.items() if kind is int), 0
)


def new_facts(response_id: str = "", tenant: str = T, **fields: object) -> Facts:
    """Return facts of a response with a new id."""
    known: dict[str, Any] = {
        "began": NOW,
        "cost": None,
        "ended": None,
        "queued": None,
        "first": None,
        "status": "completed",
    }
    known |= {"spans": b"", "bodies": b"", "tenant": tenant, **fields}
    return Facts(**{**DEFAULTS, **known, "id": response_id or new_id("resp")})


async def _found(store: Store, response_id: str, tenant: str = T) -> Facts | None:
    page = await store.read(facts_page.page, tenant, FactsQuery(1000))
    return next((one for one in page.facts if one.id == response_id), None)


async def _come_with_a_response(store: Store) -> None:
    """Facts are stored with their response, and with their spans and bodies."""
    tenant = new_id("tenant")
    facts = [
        new_facts(
            tenant=tenant,
            ended=NOW + 3_000,
            model="m",
            tags='["a","b"]',
            input="question",
            flags=16,
            queued=1,
            spans=b"[1]",
            bodies=b"[2]",
            cost=7,
        )
        for _ in range(3)
    ]
    one, other, unstored = (
        replace_fields(new_response(new_items("in"), id=each.id), tenant=tenant, facts=each)
        for each in facts
    )
    await store.save(one)
    await store.save(other)
    await store.save(replace_fields(unstored, is_stored=False, conversation_id=None))
    found = [await _found(store, each.id, tenant) for each in facts[:2]]
    hold(
        found == [replace(each, spans=b"", bodies=b"") for each in facts[:2]], f"stored are {found}"
    )
    hold(await store.read(stored_facts.spans, tenant, one.id) == b"[1]", "the spans are not stored")
    hold(
        await store.read(stored_facts.bodies, tenant, one.id) == b"[2]", "the bodies are not stored"
    )
    again = replace(facts[0], status="failed", error="e\0")
    await store.save(replace_fields(one, facts=again))
    changed = await _found(store, one.id, tenant)
    hold(
        changed == replace(again, error="e\ufffd", spans=b"", bodies=b""),
        f"stored again they are {changed}",
    )


async def _come_alone(store: Store) -> None:
    """Facts are stored without a response, of many tenants at once."""
    one = new_facts(tenant=new_id("tenant"), spans=b"[2]")
    other = new_facts(tenant=new_id("tenant"))
    await store.write(stored_facts.put_new, [one, other])
    hold(
        await _found(store, one.id, one.tenant) == replace(one, spans=b""), "the first are unknown"
    )
    hold(await _found(store, other.id, other.tenant) == other, "the second are unknown")
    hold(
        await store.read(stored_facts.spans, one.tenant, one.id) == b"[2]", "the spans are unknown"
    )
    hold(
        await store.read(stored_facts.spans, other.tenant, other.id) is None,
        "there are spans that were not stored",
    )


async def _are_their_tenants(store: Store) -> None:
    """Facts and spans are unknown to other tenants, which cannot change them."""
    response = replace_fields(new_response(), facts=new_facts(spans=b"[3]"))
    facts = replace(new_facts(response.id), spans=b"[3]")
    await store.save(replace_fields(response, facts=facts))
    other = new_id("tenant")
    hold(await _found(store, facts.id, other) is None, "another tenant sees the facts")
    hold(
        await store.read(stored_facts.bodies, other, facts.id) is None,
        "another tenant sees the bodies",
    )
    hold(
        await store.read(stored_facts.spans, other, facts.id) is None,
        "another tenant sees the spans",
    )
    page = await store.read(facts_page.page, other, FactsQuery(10, facts.id))
    hold(page.unknown == "after", "another tenant can list what follows")
    hold(
        not await store.write(responses.delete, other, response.id),
        "another tenant deleted the response",
    )
    hold(await _found(store, facts.id) is not None, "another tenant deleted the facts")


async def _follow_a_job(store: Store) -> None:
    """Facts of a background response begin when it is queued, change when it is claimed, and end
    with it.
    """
    tenant = new_id("tenant")
    response = replace_fields(new_response(status="queued"), tenant=tenant)
    queued = new_facts(response.id, tenant, status="queued", began=NOW)
    await store.write(jobs.enqueue, replace_fields(response, facts=queued), b"{}", ())
    hold(await _found(store, response.id, tenant) == queued, "the queued response is not listed")
    job: Job | None = None
    while job is None or job.response.id != response.id:
        job = await store.write(jobs.claim, "worker_facts", 1000)
        hold(job is not None, "the job cannot be claimed")
    begun = await _found(store, response.id, tenant)
    hold(begun == replace(queued, status="in_progress"), f"claimed, it is {begun}")
    ended = replace(
        queued, status="completed", began=NOW + 3_000, ended=NOW + 4_000, queued=10, first=20
    )
    await store.write(
        jobs.finish, job, replace_fields(job.response, status="completed", facts=ended)
    )
    found = await _found(store, response.id, tenant)
    hold(found == replace(ended, began=NOW, queued=3_010, first=3_020), f"at the end it is {found}")


async def _last_after_the_clock_goes_back(store: Store) -> None:
    """A background response that ends at an earlier time than it was queued lasts as long as it
    ran.
    """
    queued = new_facts(tenant=new_id("tenant"), status="queued")
    ran = replace(
        queued, status="completed", began=NOW - 9_000, ended=NOW - 5_000, queued=10, first=20
    )
    await store.write(stored_facts.put_new, [queued])
    await store.write(stored_facts.put_new, [ran])
    found = await _found(store, queued.id, queued.tenant)
    hold(
        found is not None
        and (found.began, found.ended, found.queued, found.first) == (NOW, NOW + 4_000, 10, 20),
        f"at the end it is {found}",
    )


async def _lose_words(store: Store) -> None:
    """Deleting a response deletes its words, tags and spans; no list has it any more."""
    tenant = new_id("tenant")
    facts = new_facts(
        tenant=tenant, input="question", output="said", tags="[]", spans=b"[4]", bodies=b"[4]"
    )
    await store.save(replace_fields(new_response(id=facts.id), tenant=tenant, facts=facts))
    await store.write(responses.delete, tenant, facts.id)
    hold(await store.read(stored_facts.spans, tenant, facts.id) is None, "the spans still exist")
    hold(await store.read(stored_facts.bodies, tenant, facts.id) is None, "the bodies still exist")
    hold(await _found(store, facts.id, tenant) is None, "it is still listed")
    page = await store.read(facts_page.page, tenant, FactsQuery(10, facts.id))
    hold(not page.unknown, "a list cannot continue after it")


async def _are_paged(store: Store) -> None:
    """Facts are listed by the time at which their responses began, in both directions, between any
    two.
    """
    tenant = new_id("tenant")
    all_ = [new_facts(tenant=tenant, began=NOW + began) for began in (5, 3, 3, 9, 1)]
    await store.write(stored_facts.put_new, all_)
    order = [all_[place].id for place in (4, 1, 2, 0, 3)]
    for descending in (False, True):
        ids = order[::-1] if descending else order
        for start in (0, 1, 3, 5):
            query = FactsQuery(2, ids[start - 1] if start else None, descending=descending)
            page = await store.read(facts_page.page, tenant, query)
            hold(
                [one.id for one in page.facts] == ids[start : start + 2],
                f"after {start} are {page.facts}",
            )
            hold(page.has_more is (start + 2 < 5), f"after {start} there are more: {page.has_more}")
        between = await store.read(
            facts_page.page, tenant, FactsQuery(9, ids[0], ids[4], descending)
        )
        hold([one.id for one in between.facts] == ids[1:4], f"between the ends are {between.facts}")
    unknown = await store.read(facts_page.page, tenant, FactsQuery(9, before=new_id("resp")))
    hold(unknown.unknown == "before", "items before an unknown one are listed")


async def _expire(store: Store) -> None:
    """`purge` deletes facts with their spans this many seconds after their response began."""
    tenant = new_id("tenant")
    old = new_facts(tenant=tenant, began=1_000, spans=b"[5]")
    await store.write(stored_facts.put_new, [old])
    hold((await purge(store, dry_run=True))["facts"] >= 1, "expired ones are not counted")
    hold((await purge(store))["facts"] >= 1, "expired ones are not deleted")
    hold((await purge(store))["facts"] == 0, "expired ones still exist")
    hold(await store.read(stored_facts.spans, tenant, old.id) is None, "expired spans exist")
