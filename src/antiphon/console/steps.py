"""The steps of an agent's response as the console shows them."""

from collections.abc import Sequence

from antiphon.console.redaction import redacted
from antiphon.objects.items import ItemViews
from antiphon.objects.large import built_object
from antiphon.objects.pages import LONGEST_ID, JsonObject, not_found
from antiphon.protocol.json_slices import decoded
from antiphon.storage.operations import steps
from antiphon.storage.records.facts import Facts
from antiphon.storage.records.steps import Step, StepOutline, StepState
from antiphon.storage.store import Store


class StepViews:
    """Reads steps. Its callers have read the facts of the response, so they may read its steps."""

    def __init__(self, store: Store, views: ItemViews) -> None:
        self._store = store
        self._views = views

    async def list(self, facts: Facts, after: int, limit: int) -> Sequence[JsonObject]:
        """Return steps after a place, without their bodies."""
        found = await self._store.read(steps.outlines, facts.tenant, facts.id, after, limit)
        return [_row(one, has_ended=facts.ended is not None) for one in found]

    async def one(self, facts: Facts, place: str) -> JsonObject:
        """Return the body of a step. Raises `ClientError` (404)."""
        number = int(place) if place.removeprefix("-").isdecimal() and len(place) < 10 else None
        found = None
        if number is not None:
            found = await self._store.read(steps.load, facts.tenant, facts.id, number)
        if found is None:
            raise not_found("Step", place[:LONGEST_ID])
        return await built_object(
            self._views.capacity, facts.tenant, len(found.body), _whole, found
        )


def _row(step: StepOutline, *, has_ended: bool) -> JsonObject:
    is_once = step.state is StepState.BEGUN and not step.size
    return {
        "object": "response.step",
        "id": str(step.place),
        "key": step.key,
        "state": step.state.name.lower(),
        "is_unknown": is_once and has_ended,
        "attempt": step.attempt,
        "version": step.version,
        "started_ms": step.began,
        "ended_ms": step.ended,
        "body_bytes": step.size,
    }


def _whole(step: Step) -> JsonObject:
    body = redacted(decoded(step.body)) if step.body else None
    return {"object": "response.step.body", "id": str(step.place), "body": body}
