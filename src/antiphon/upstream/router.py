"""The route of one response through the backends: which one is called, and which one after a
failure.

Router.route(model) ──> Route.target, called between acquire() and release()
                            └─ succeeded() ──> the next call of the response goes to the same backend
                            └─ fail_over(failure) ──> True: call the new target; False: report the failure
"""  # noqa: E501 - a table, a diagram or an example

import asyncio
import random
from collections import OrderedDict
from collections.abc import Sequence
from contextlib import suppress

from antiphon.errors import AntiphonError, log
from antiphon.sharing.scheduler import NoRoomError, deferred
from antiphon.upstream.backend_errors import overloaded
from antiphon.upstream.backend_state import BackendState, ModelTarget
from antiphon.upstream.candidates import BackendCandidate, Candidates, next_turn, order
from antiphon.upstream.health import Pause
from antiphon.upstream.registry import ModelRegistry
from antiphon.upstream.retry_after import LONGEST_WAIT, paused
from antiphon.upstream.retry_policy import Failure, FailureVerdict, RetryBudget, verdict

MOST_ATTEMPTS = 3
"""Backends that are called for one request, one after the other."""

JITTER = (0.05, 0.15)
"""Seconds before the same backend is called once more."""

MOST_CHAINS = 50_000
"""Chains with a remembered last backend."""


class Router:
    """Selects the route of every request."""

    def __init__(self, registry: ModelRegistry) -> None:
        self.registry = registry
        self.budgets: dict[str, RetryBudget] = {}
        """By tenant, for those that spent retries and have not earned them again: tenants have
        separate budgets.
        """
        self._warm: OrderedDict[str, str] = OrderedDict()

    async def route(
        self,
        model: str,
        *chains: str,
        tenant: str = "",
        is_patient: bool = False,
        is_late: bool = False,
    ) -> "Route":
        """Return the route of a response that belongs to these chains.

        Raises what `ModelRegistry.candidates` raises, and `AntiphonError` with the wait if no
        backend can be called now. A patient request receives a route anyway; one that may call no
        model at all (`is_late`) raises that error only when it calls one.
        """
        candidates = await self.registry.candidates(model)
        return Route(self, candidates, chains, tenant, is_patient=is_patient, is_late=is_late)

    def earn(self, tenant: str) -> None:
        """A request of this tenant is sent for the first time."""
        budget = self.budgets.get(tenant)
        if budget is not None:
            budget.earn()
            if budget.is_full:
                del self.budgets[tenant]

    def spend(self, tenant: str) -> bool:
        """Return whether this tenant can retry once more; the retry is then spent."""
        return self.budgets.setdefault(tenant, RetryBudget()).spend()

    def warm_for(self, chains: Sequence[str]) -> str:
        """Return the name of the backend that served these chains last; empty if unknown."""
        return next((self._warm[chain] for chain in chains if chain in self._warm), "")

    def follow(self, chains: Sequence[str], backend: str) -> None:
        """Record that this backend has the prefix of these chains in its cache."""
        for chain in chains:
            self._warm[chain] = backend
            self._warm.move_to_end(chain)
        while len(self._warm) > MOST_CHAINS:
            self._warm.popitem(last=False)


class Route:
    """The route of one response. `target` is the model and backend to call."""

    def __init__(
        self,
        router: Router,
        candidates: Candidates,
        chains: Sequence[str],
        tenant: str,
        *,
        is_patient: bool,
        is_late: bool,
        defers_for: float = 0,
    ) -> None:
        """`defers_for` is the number of seconds for which the response uses idle slots only."""
        self._router = router
        self._candidates = candidates
        # Most servers have one backend for a model: then nothing is ranked, remembered
        # or selected again.
        self._has_others = len(candidates) > 1
        self._chains = chains
        self._warm = router.warm_for(chains) if chains and self._has_others else ""
        self._tenant = tenant
        # A deferred response shares slots under a name of its own, so that it never delays others
        # of its tenant.
        self._defers_until = router.registry.clock() + defers_for if defers_for else 0.0
        self._sharer = deferred(tenant) if defers_for else tenant
        """The name by which slots are shared."""
        self._is_patient = is_patient
        self._is_late = is_late
        self._tried: list[ModelTarget] = []
        self._is_again = False
        """The target has failed for this request, and is called once more."""
        self._retained: BackendState | None = None
        self._is_counted = False
        """The held slot counts for the tenant."""
        self._since = 0.0
        self.probed: Pause | None = None
        """The pause of the target that the request probes."""
        self.target: ModelTarget = candidates[0]
        self.is_settled = not (self._has_others or is_late)
        """The selection is final: there is only one target, or a backend rejected the request."""
        # Selected at once only if there is something to decide, or a reason to reject
        # the request now.
        state = self.target.state
        if (
            self._has_others
            or state.health.pauses
            or 0 < state.slots.capacity <= state.slots.in_use
        ):
            self._select(rejects=not (is_patient or is_late))

    def reselect(self) -> None:
        """Select again, at the moment of the call: other requests may have arrived meanwhile.

        Raises what `Router.route` raises, for one that is late.
        """
        if not self.is_settled:
            self._select(rejects=self._is_late and not self._is_patient)

    def _select(self, *, rejects: bool) -> None:
        """Select the target; if none can be called now, raise the reason, or else use the first
        that is available.
        """
        target = self._choose()
        if target is None and rejects:
            raise self._refusal()
        self.target = target or self._soonest()

    def redirect(self) -> bool:
        """Return whether `target`, which was paused after its selection, is now another that can be
        called now.
        """
        target = self._choose() if self._pause(self.target) else None
        if target is None:
            return False
        self.target = target
        return True

    async def acquire(self) -> None:
        """Acquire a slot of the target, released by `release`.

        Raises `BackendError` (503) if its queue is full.

        If the target is paused, raises the error that paused it. A patient request always waits in
        the queue, and before that until the pause ends, unless that takes longer than clients wait.
        """
        state = self.target.state
        # Calls that failed together would otherwise be repeated together.
        if self._is_again:
            self._is_again = False
            await asyncio.sleep(random.uniform(*JITTER))  # noqa: S311 - spreads retries, keeps nothing secret
        # Before the queue: a request that waits for a pause must not hold a slot meanwhile.
        if state.health.pauses or state.listing is not None:
            await self._wait_out(state)
        slots = state.slots
        # Remembered for `release`: a limit can be set or removed while the slot is held.
        self._is_counted = slots.is_limited
        if not self._is_counted:
            slots.in_use += 1
        elif self._defers_until:
            await self._enter_deferred(state)
        elif not slots.take(self._tenant):
            await self._enter(state)
        self._retained, self._since = state, self._router.registry.clock()
        # Only the first attempt earns retries: a retry that earned others would defeat the budget.
        if self._router.budgets and not self._tried:
            self._router.earn(self._tenant)
        # The slot is held, so the request is certainly sent: only now it counts
        # for the backend's turn.
        state.requested += 1
        if self._has_others:
            state.turn = self._next_turn(state)
        else:
            state.turn += 1 / state.options.weight
        # It can be the probe of an ejected backend, or of a pause: then others wait
        # for its outcome.
        if state.health.probe_at is not None:
            state.health.requested(self._since)
        if state.health.pauses:
            self.probed = state.health.probe(self._since, self.target.model, self._tenant)

    async def _enter(self, state: BackendState) -> None:
        """Acquire a slot in the tenant's turn; meanwhile the backend may have been paused."""
        while True:
            try:
                await state.slots.enter(self._sharer, is_patient=self._is_patient)
            except NoRoomError as error:
                raise overloaded(error.wait) from None
            if not state.health.pauses or self._pause(self.target) is None:
                return
            state.slots.leave(self._sharer)
            await self._wait_out(state)

    async def _enter_deferred(self, state: BackendState) -> None:
        """Acquire an idle slot; from the time at which the response can no longer wait for one,
        acquire any.
        """
        if (rest := self._defers_until - self._router.registry.clock()) > 0:
            with suppress(TimeoutError):
                async with asyncio.timeout(rest):
                    await self._enter(state)
                    return
        self._defers_until = 0.0
        self._sharer = self._tenant
        await self._enter(state)

    def release(self) -> None:
        """Release the slot, if one is held; the target may be another by now."""
        if self._retained is None:
            return
        state = self._retained
        self._retained = None
        slots = state.slots
        if self._is_counted or slots.is_limited:
            slots.leave(self._sharer, self._router.registry.clock() - self._since)
        else:
            slots.in_use -= 1
        if self.probed is not None:
            state.health.give_up(self.probed)
            self.probed = None

    def lift(self) -> None:
        """The target accepted the request that probed its pause."""
        if self.probed is not None:
            self.target.state.health.lift(self.probed)
            self.probed = None

    def succeeded(self, *chains: str) -> None:
        """The target completed the answer; if others were available, it is preferred for the chains
        from now on.
        """
        health = self.target.state.health
        if health.failures or health.probe_at is not None:
            health.succeeded()
        if self._has_others and (chains or self._chains):
            self._router.follow((*self._chains, *chains), self.target.state.name)
        self._tried.clear()
        self._is_patient = True  # a response in progress must be completed

    def report_failure(self, failure: Failure, error: AntiphonError) -> FailureVerdict:
        """Record that the target failed in the middle of its answer; return the consequences."""
        state = self.target.state
        found = verdict(failure)
        if not found.moves:
            self.lift()  # it processed the request
            return found
        state.failed += 1
        if state.health.failed(
            failure, error, self._router.registry.clock(), self.target.model, self._tenant
        ):
            log.warning(
                "Backend '%s' is used only if no other backend can answer: %s",
                state.name,
                error.gist,
            )
        elif found.pause:
            log.warning(
                "Backend '%s' is paused for %.0f s: %s", state.name, found.pause, error.gist
            )
        elif failure.is_broken:
            log.warning("A call of a model failed: %s", error.gist)
        return found

    def fail_over(self, failure: Failure, error: AntiphonError) -> bool:
        """The target failed before its first byte.

        Return whether `target` is now another, to be called instead.
        """
        found = self.report_failure(failure, error)
        if not found.moves:
            return False
        self._tried.append(self.target)
        if len(self._tried) >= MOST_ATTEMPTS:
            return False
        target = self._choose() if self._has_others else None
        if target is None or (found.costs and not self._router.spend(self._tenant)):
            return False
        self._is_again = target in self._tried
        self.target = target
        return True

    def _choose(self) -> ModelTarget | None:
        if self._has_others:
            return self._best(self._router.registry.clock())
        only = self._candidates[0]
        if only.state.health.pauses or 0 < only.state.slots.capacity <= only.state.slots.in_use:
            return only if self._is_able(only, self._router.registry.clock()) else None
        return only

    def _best(self, now: float) -> ModelTarget | None:
        candidates = self._candidates
        ranks = self._candidates.ranks
        places = order(
            [
                self._candidate(target, rank, now)
                for target, rank in zip(candidates, ranks, strict=True)
            ]
        )
        return candidates[places[0]] if places else None

    def _is_able(self, target: ModelTarget, now: float, *, is_free: bool = False) -> bool:
        """Whether it can be called at all; the only one always can.

        `is_free`: whether it has a free slot.
        """
        state = target.state
        if state.health.pauses and state.health.pause(now, target.model, self._tenant):
            return False
        return (
            is_free
            or self._is_patient
            or not state.slots.is_limited
            or state.slots.admits(self._tenant)
        )

    def _candidate(self, target: ModelTarget, rank: int, now: float) -> BackendCandidate:
        state = target.state
        slots = state.slots
        is_free = not slots.is_limited or slots.is_free_for(self._sharer)
        return BackendCandidate(
            is_up=state.health.is_up(now),
            is_able=self._is_able(target, now, is_free=is_free),
            was_tried=target in self._tried,
            fallback=rank,
            is_full=not is_free,
            is_warm=state.name == self._warm,
            is_loaded=state.load.has_loaded(target.model),
            has_free=state.load.free != 0,
            load=(slots.in_use + slots.waiting) / state.options.weight,
            turn=state.turn,
        )

    def _next_turn(self, state: BackendState) -> float:
        others = [target.state for target in self._candidates if target.state is not state]
        return next_turn(
            state.turn, state.options.weight, [(one.turn, one.options.weight) for one in others]
        )

    async def _wait_out(self, state: BackendState) -> None:
        """Wait until the target's pause ends, and until it has listed its models if it has a single
        slot.

        Raises the error that paused it if the request must not wait.
        """
        clock = self._router.registry.clock
        latest = clock() + LONGEST_WAIT
        while pause := self._pause(self.target):
            if not self._is_patient or pause.requested > latest:
                raise self._refusal(self.target)
            await asyncio.sleep(pause.left(clock()))
        while state.listing is not None:
            await state.listing.wait()

    def _pause(self, target: ModelTarget) -> Pause | None:
        """Return the pause that applies to this request."""
        return target.state.health.pause(self._router.registry.clock(), target.model, self._tenant)

    def _soonest(self) -> ModelTarget:
        """Return the model's backend that becomes available first."""
        own = [target for target in self._candidates if target.name == self._candidates[0].name]
        pauses = {target: self._pause(target) for target in own}
        return min(own, key=lambda target: pause.until if (pause := pauses[target]) else 0.0)

    def _refusal(self, target: ModelTarget | None = None) -> AntiphonError:
        """Return why this one cannot be called; by default the first to become available, if none
        is now.
        """
        target = target or self._soonest()
        pause = self._pause(target)
        if pause is None:
            return overloaded(target.state.slots.expected_wait)
        return paused(pause.error, pause.requested - self._router.registry.clock())
