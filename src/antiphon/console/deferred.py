"""Deferred background responses that wait for an idle slot, as the console lists them."""

from dataclasses import dataclass

from antiphon.ids import Clock
from antiphon.objects.pages import JsonObject, page_of, unknown_bound
from antiphon.protocol.console import DeferredQuery
from antiphon.protocol.validation.refusals import quoted
from antiphon.storage.operations import deferred
from antiphon.storage.records.facts import WINDOWS
from antiphon.storage.records.jobs import DeferredJob
from antiphon.storage.store import Store


@dataclass(slots=True)
class DeferredResponses:
    """The deferred responses of all tenants that no worker runs."""

    store: Store
    now: Clock
    lead: int
    """Seconds from `begin_by` until a response is due."""

    async def page(self, tenant: str | None, query: DeferredQuery) -> JsonObject:
        """Return a page of them, oldest first; without a `tenant`, of all tenants.

        Raises `ClientError` (400).
        """
        found = await self.store.read(deferred.page, tenant, query.limit, query.after)
        if found.unknown:
            raise unknown_bound("after", quoted(query.after), "response")
        now = self.now()
        return page_of(
            [_displayed(one, now, self.lead) for one in found.data], has_more=found.has_more
        )


def _displayed(job: DeferredJob, now: float, lead: int) -> JsonObject:
    return {
        "object": "deferred_response",
        "id": job.response_id,
        "tenant": job.tenant or None,
        "api_key_id": job.key_id or None,
        "model": job.model or None,
        "completion_window": next(
            (name for name, flag in WINDOWS.items() if job.flags & flag), None
        ),
        "created_at": job.created_at,
        "begin_by": job.begin_by,
        "due_at": job.begin_by + lead,
        "waits_for": "any_slot" if job.begin_by <= now else "idle_slot",
        "attempts": job.attempts,
        "crashes": job.crashes,
        "input_preview": job.input or None,
    }
