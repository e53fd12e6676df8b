"""Enforces the limits of keys, shares running responses between tenants, and records the usage of
keys.

A request with a key holds one of the process's response slots from its lease to its end; the
requests of a tenant above its share wait (`sharing/scheduler.py`). A background response holds no
slot: its worker has its own slots.

The expected usage of a request is reserved in the store before its model is called, and settled for
the usage that the backend reported when the request ends, however it ends. Usage is written soon
after, many requests in one step.
"""

import asyncio
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext, suppress
from dataclasses import dataclass, field
from types import TracebackType
from typing import Protocol, Self

from msgspec.structs import replace

from antiphon.access.limits import (
    check_model,
    counts_tokens,
    has_budget,
    over_budget,
    rate_headers,
    refusal,
    too_many_at_once,
    too_many_responses,
)
from antiphon.access.spending import NOTHING_SPENT, RESERVED, SpentTokens, Tariff, Weight
from antiphon.errors import ClientError, StoreError, log
from antiphon.ids import Clock, new_id
from antiphon.sharing.scheduler import FairScheduler, NoRoomError
from antiphon.storage.operations import api_keys
from antiphon.storage.records.jobs import NOTHING_RESERVED, Reservation
from antiphon.storage.records.money import MoneyClaim
from antiphon.storage.records.tenants import ApiKey, BucketState, UsageRecord
from antiphon.storage.store import Store
from antiphon.upstream.permitted import permit, restriction

TRY_AGAIN = 0.5
"""Seconds between two attempts to write usage while the store fails."""

LAST_TRY = 5.0
"""Seconds for which the process waits for that at its end."""

DAY = 86_400

MAX_RESPONSES = 2_000
"""Response slots of a process by default: an open stream takes some 45 kB of memory, so all take 90
MB.
"""

Attend = Callable[[], AbstractAsyncContextManager[object]]
"""Returns a context that a waiting request enters; it ends the wait when the client disconnects."""


def response_slots(most: int) -> FairScheduler:
    """Return the slots of running responses; as many more may wait.

    One tenant alone holds at most about 80 %.
    """
    return FairScheduler(most, most, leaves_room=True)


class Spender(Protocol):
    """The result of a request, and its usage."""

    def spent(self) -> SpentTokens:
        """Return the tokens and their cost."""
        ...


class UsageLease:
    """Permission to call a model, valid inside `with`; this class is for requests without a key."""

    headers: Mapping[str, str] = {}
    taken: Reservation = NOTHING_RESERVED

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: object, traceback: TracebackType | None
    ) -> None:
        """The request has ended."""

    def watch(self, run: Spender) -> None:
        """This response is the result of the request."""

    def report(self, spent: SpentTokens) -> None:
        """The request used this."""

    def hand_over(self) -> None:
        """The request continues without this lease: a job has `taken` now, and settles it."""


UNMETERED = UsageLease()


class MeteredLease(UsageLease):
    """Permission for a key; the usage is charged to the key at the end."""

    def __init__(
        self,
        meter: "Meter",
        key: ApiKey,
        taken: Reservation,
        headers: Mapping[str, str],
        since: float | None,
    ) -> None:
        self._meter = meter
        self._key = key
        self._since = since
        self.headers = headers
        self.taken = taken
        self._began = meter.now()
        self._spent: Callable[[], SpentTokens] = lambda: NOTHING_SPENT
        self._is_handed_over = False

    def __exit__(
        self, kind: type[BaseException] | None, error: object, traceback: TracebackType | None
    ) -> None:
        """See `UsageLease`."""
        self._meter.leave(self._key, self._since)
        if not self._is_handed_over:
            self._meter.charge(self._key.tenant, self.taken, self._began, 1, self._spent())

    def watch(self, run: Spender) -> None:
        """See `UsageLease.watch`."""
        self._spent = run.spent

    def report(self, spent: SpentTokens) -> None:
        """See `UsageLease.report`."""
        self._spent = lambda: spent

    def hand_over(self) -> None:
        """See `UsageLease.hand_over`."""
        self._is_handed_over = True


@dataclass(slots=True)
class Meter:
    """Admits requests and counts their usage, for one process; the store has the sums of minutes
    and days.
    """

    store: Store
    now: Clock
    _responses: FairScheduler = field(default_factory=FairScheduler)
    tariff: Tariff | None = None
    """The prices of the server, without which no key has a budget."""
    currency: str = "USD"
    _at_once: dict[str, int] = field(default_factory=dict)
    """Running requests of each key."""
    _uses: dict[tuple[str, str, str, int], UsageRecord] = field(default_factory=dict)
    """Usage that is not written yet, by tenant, key, model and day."""
    _writing: asyncio.Task[None] | None = None
    _name: str = field(default_factory=lambda: new_id("meter"))
    """Under which the store knows the last batch."""
    _batches: int = 0

    @property
    def in_progress(self) -> int:
        """Requests with a key that run in this process."""
        return sum(self._at_once.values())

    async def admit(
        self,
        key: ApiKey | None,
        model: str | None,
        weight: Weight,
        attend: Attend = nullcontext,
        *,
        is_queued: bool = False,
    ) -> UsageLease:
        """Admit a request, in its tenant's turn; `weight` are the tokens that it is expected to
        use.

        A request without a `model` calls no model and holds no slot; neither does a background
        response that `is_queued`.

        Raises `ClientError`: 400 for a model that the key does not allow, or that has no price
        where a budget applies, 429 where a limit or a budget is reached, 503 where too many
        requests wait for a slot.
        """
        if key is None:
            return UNMETERED
        if model is not None:
            check_model(key, model)
        if (
            key.limits.models or restriction.get()
        ):  # those of a socket's key may have changed since it opened
            permit(key.limits.models)
        self._enter(key)
        since = None
        try:
            if not is_queued and model is not None:
                if not self._responses.take(key.tenant):
                    await self._wait(key.tenant, attend)
                since = time.monotonic()
            return await self._take(key, model, weight, since)
        except BaseException:
            self.leave(key, since)
            raise

    def leave(self, key: ApiKey, since: float | None) -> None:
        """End a request of this key, which has held a slot since `since`; None if it held no
        slot.
        """
        left = self._at_once[key.id] - 1
        if left:
            self._at_once[key.id] = left
        else:
            del self._at_once[key.id]
        if since is not None:
            self._responses.leave(key.tenant, time.monotonic() - since)

    def charge(
        self, tenant: str, taken: Reservation, began: float, requests: int, spent: SpentTokens
    ) -> None:
        """Count the usage, which is stored soon, and release its reservation."""
        if not taken.key_id:
            return
        now = int(self.now())
        # A reservation of another day is not credited to this day.
        is_same_day = int(began) // DAY == now // DAY
        use = UsageRecord(
            tenant,
            taken.key_id,
            now,
            requests,
            spent.input_tokens,
            spent.output_tokens,
            taken.tokens if is_same_day else 0,
            spent.model,
            spent.cached_tokens,
            spent.cost,
            taken.cost is not None,
            (taken.cost or 0) if is_same_day else 0,
        )
        self._add(use)
        if self._writing is None:
            self._writing = asyncio.get_running_loop().create_task(self._write())

    async def settle(self) -> None:
        """Wait until all usage is written."""
        if self._writing is not None:
            await asyncio.shield(self._writing)

    async def close(self) -> None:
        """Write the remaining usage, if the store accepts it soon."""
        with suppress(TimeoutError):
            async with asyncio.timeout(LAST_TRY):
                await self.settle()
        if self._writing is not None:
            self._writing.cancel()
            text = (
                "The usage of the last requests is lost: the store did not accept it within %g s."
            )
            log.warning(text, LAST_TRY)

    def _enter(self, key: ApiKey) -> None:
        most = key.limits.concurrency
        running = self._at_once.get(key.id, 0)
        if most is not None and running >= most:
            raise too_many_at_once(most)
        self._at_once[key.id] = running + 1

    async def _wait(self, tenant: str, attend: Attend) -> None:
        """Wait for a slot. Raises `ClientError` (503) if too many requests wait, and what `attend`
        raises.
        """
        try:
            async with attend():
                await self._responses.enter(tenant)
        except NoRoomError as full:
            raise too_many_responses(full.wait) from full

    async def _take(
        self, key: ApiKey, model: str | None, weight: Weight, since: float | None
    ) -> MeteredLease:
        limits = key.limits
        has_tokens = counts_tokens(key.limits)
        is_budgeted = model is not None and has_budget(key)
        if limits.requests_per_minute is None and not has_tokens and not is_budgeted:
            return MeteredLease(
                self, key, Reservation(key.id, models=tuple(limits.models)), {}, since
            )
        weight = await self._weight(model, weight) if has_tokens or is_budgeted else Weight()
        taken = Reservation(
            key.id, limits.fit(sum(weight)) if has_tokens else 0, models=tuple(limits.models)
        )
        claim = None
        if is_budgeted and model is not None:
            assert self.tariff is not None  # noqa: S101 - a server has one: without prices, it rejects budgets
            claim = await self.tariff.claim(key, model, weight)
            taken = replace(taken, cost=claim.fit())
        level = await self._reserve(key, taken, claim)
        now = self.now()
        headers = rate_headers(limits, level, now)
        if not level.is_granted:
            error = self._refusal(key, level, taken.tokens, now)
            error.headers = {**headers, **error.headers}
            raise error
        return MeteredLease(self, key, taken, headers, since)

    async def _weight(self, model: str | None, weight: Weight) -> Weight:
        if self.tariff is None or model is None:
            return weight.bounded(RESERVED)
        return await self.tariff.bounded(model, weight)

    def _refusal(self, key: ApiKey, level: BucketState, tokens: int, now: float) -> ClientError:
        if level.exhausted is not None:
            return over_budget(level.exhausted, self.currency, now)
        return refusal(key.limits, level, tokens, now)

    async def _reserve(
        self, key: ApiKey, taken: Reservation, claim: MoneyClaim | None
    ) -> BucketState:
        """Reserve this in the store; if the client disconnects meanwhile, release it at once."""
        more = () if claim is None else (claim,)
        taking = asyncio.ensure_future(
            self.store.write(api_keys.take, key.id, key.limits, taken.tokens, *more)
        )
        try:
            return await asyncio.shield(taking)
        except asyncio.CancelledError:
            taking.add_done_callback(lambda done: self._give_back(key, taken, done))
            raise

    def _give_back(
        self, key: ApiKey, taken: Reservation, taking: asyncio.Future[BucketState]
    ) -> None:
        if not taking.cancelled() and taking.exception() is None and taking.result().is_granted:
            self.charge(key.tenant, taken, self.now(), 0, NOTHING_SPENT)

    async def _write(self) -> None:
        """Write all pending usage; usage that arrives meanwhile is part of the next batch."""
        try:
            while self._uses:
                uses = list(self._uses.values())
                self._uses = {}
                self._batches += 1
                await self._write_batch(uses)
        finally:
            self._writing = None

    async def _write_batch(self, uses: list[UsageRecord]) -> None:
        """Write a batch until the store acknowledges it: one with the same number counts once."""
        while True:
            try:
                await self.store.write(api_keys.charge_once, self._name, self._batches, uses)
            except StoreError as error:
                log.warning("Cannot store the usage of API keys; retrying: %s", error)
                await asyncio.sleep(TRY_AGAIN)
            else:
                return

    def _add(self, use: UsageRecord) -> None:
        place = use.tenant, use.key_id, use.model, use.at // DAY
        before = self._uses.get(place)
        self._uses[place] = use if before is None else _sum(before, use)


def _sum(one: UsageRecord, other: UsageRecord) -> UsageRecord:
    return replace(
        one,
        requests=one.requests + other.requests,
        input_tokens=one.input_tokens + other.input_tokens,
        output_tokens=one.output_tokens + other.output_tokens,
        taken=one.taken + other.taken,
        cached_tokens=one.cached_tokens + other.cached_tokens,
        cost=one.cost + other.cost,
        is_budgeted=one.is_budgeted or other.is_budgeted,
        cost_taken=one.cost_taken + other.cost_taken,
    )
