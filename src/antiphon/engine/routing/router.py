"""The way of one response through the backends: whom it asks, and whom then.

Router.route(model) ──> Route.target, asked between enter() and leave()
                            └─ answered() ──> the next question of the response goes to the same
                            └─ moves_on(failure) ──> True: ask the new target; False: that was it
"""

import asyncio
import random
from collections import OrderedDict
from collections.abc import Sequence
from typing import TYPE_CHECKING

from antiphon.engine.routing.budget import Budget
from antiphon.engine.routing.choice import Candidate, next_turn, order
from antiphon.engine.routing.refusal import resting
from antiphon.engine.routing.served import Served
from antiphon.engine.routing.slots import LONGEST_WAIT
from antiphon.engine.routing.verdict import Failure, Verdict, verdict
from antiphon.errors import AntiphonError, log
from antiphon.protocol.requests import CreateResponse

if TYPE_CHECKING:
    from antiphon.engine.models import Models, Target

MOST_ATTEMPTS = 3
"""Backends that are asked one question, one after the other."""

JITTER = (0.05, 0.15)
"""Seconds before the same backend is asked once more."""

MOST_CHAINS = 50_000
"""Chains of which is remembered who served them last."""


class Router:
    """Chooses for every response."""

    def __init__(self, models: "Models") -> None:
        self.models = models
        self.budget = Budget()
        self._warm: OrderedDict[str, str] = OrderedDict()

    async def route(
        self, model: str, *chains: str, tenant: str = "", is_patient: bool = False, is_late: bool = False
    ) -> "Route":
        """Return the way of a response that belongs to these chains.

        Raises what `Models.candidates` raises, and `AntiphonError` with the wait where nobody can be asked now; who is
        patient gets a way all the same, and who may not ask at all (`is_late`) is told when he does.
        """
        targets = await self.models.candidates(model)
        warm = next((self._warm[chain] for chain in chains if chain in self._warm), "")
        return Route(self, targets, warm, tenant, is_patient=is_patient, is_late=is_late)

    def follow(self, chains: Sequence[str], backend: str) -> None:
        """Remember that this backend has the beginning of these chains in memory."""
        for chain in chains:
            self._warm[chain] = backend
            self._warm.move_to_end(chain)
        while len(self._warm) > MOST_CHAINS:
            self._warm.popitem(last=False)


class Route:
    """One response's way. `target` is whom to ask."""

    def __init__(
        self,
        router: Router,
        targets: Sequence["Target"],
        warm: str,
        tenant: str,
        *,
        is_patient: bool,
        is_late: bool = False,
    ) -> None:
        self._router = router
        self._targets = targets
        self._models = list(dict.fromkeys(target.name for target in targets))
        """The names of the model, then of those that may answer in its place."""
        self._warm = warm
        self._tenant = tenant
        self._is_patient = is_patient
        self._is_late = is_late
        self._tried: list[Target] = []
        self._pauses = False
        self._held: Served | None = None
        self._since = 0.0
        target = self._choose()
        if target is None and not (is_patient or is_late):
            raise self._refusal()
        self.target: Target = target or self._soonest()

    def renew(self) -> None:
        """Choose again, at the moment of asking: others may have come meanwhile.

        Raises what `Router.route` raises, for who is late.
        """
        if len(self._targets) == 1 and not self._is_late:
            return
        target = self._choose()
        if target is None and self._is_late and not self._is_patient:
            raise self._refusal()
        self.target = target or self._soonest()

    def turns_aside(self) -> bool:
        """Return whether `target`, which came to rest since it was chosen, is now another that may be asked at once."""
        target = self._choose() if self._rest(self.target) else None
        if target is None:
            return False
        self.target = target
        return True

    async def enter(self) -> None:
        """Take a slot of the target; `leave` gives it back. Raises `BackendError` (503) where its queue is full.

        Who is patient waits in the queue in any case, and before that until the target rests no longer; where that
        takes longer than clients wait, raises the error for which it rests.
        """
        served = self.target.served
        if self._pauses:
            self._pauses = False
            await asyncio.sleep(random.uniform(*JITTER))  # noqa: S311 - spreads retries, keeps nothing secret
        if self._is_patient:
            await self._wait_out()
        await served.slots.enter(self._tenant, is_patient=self._is_patient)
        self._held, self._since = served, self._router.models.clock()
        if not self._tried:
            self._router.budget.earn()
        served.asked += 1
        others = [target.served for target in self._targets if target.served is not served]
        served.turn = next_turn(served.turn, served.share.weight, [(one.turn, one.share.weight) for one in others])
        served.health.asked(self._since)

    def leave(self) -> None:
        """Give back the slot, where one is held; the target may be another by now."""
        if self._held is not None:
            self._held.slots.leave(self._router.models.clock() - self._since)
            self._held = None

    def answered(self, *chains: str) -> None:
        """The target answered to the end; it is now the one that these chains know."""
        self.target.served.health.succeeded()
        self._router.follow(chains, self.target.served.name)
        self._tried.clear()
        self._is_patient = True  # what was begun is to be ended

    def broke(self, failure: Failure, error: AntiphonError) -> Verdict:
        """Note that the target failed in the middle of its answer; return what follows from that."""
        served, found = self.target.served, verdict(failure)
        if not found.moves:
            return found
        served.failed += 1
        if served.health.failed(failure, error, self._router.models.clock(), self.target.model):
            log.warning("The backend '%s' failed too often and is left out for a while: %s", served.name, error.gist)
        elif found.rest:
            log.warning("The backend '%s' is left alone for %.0f s: %s", served.name, found.rest, error.gist)
        return found

    def moves_on(self, failure: Failure, error: AntiphonError) -> bool:
        """The target failed before its first byte. Return whether `target` is now another, to be asked instead."""
        found = self.broke(failure, error)
        if not found.moves:
            return False
        self._tried.append(self.target)
        if len(self._tried) >= MOST_ATTEMPTS:
            return False
        target = self._choose() if len(self._targets) > 1 else None
        if target is None or (found.costs and not self._router.budget.spend()):
            return False
        self._pauses = target in self._tried
        self.target = target
        return True

    def _choose(self) -> "Target | None":
        now = self._router.models.clock()
        if len(self._targets) == 1:
            return self._targets[0] if self._is_able(self._targets[0], now) else None
        places = order([self._candidate(target, now) for target in self._targets])
        return self._targets[places[0]] if places else None

    def _is_able(self, target: "Target", now: float) -> bool:
        """Whether it may be asked at all: the only one may be whatever its health."""
        served = target.served
        return not served.health.rest(now, target.model) and (self._is_patient or served.slots.takes(self._tenant))

    def _candidate(self, target: "Target", now: float) -> Candidate:
        served = target.served
        slots = served.slots
        return Candidate(
            is_up=served.health.is_up(now),
            is_able=self._is_able(target, now),
            was_tried=target in self._tried,
            fallback=self._models.index(target.name),
            is_full=slots.is_full,
            is_warm=served.name == self._warm,
            is_loaded=served.sighting.has_loaded(target.model),
            has_free=served.sighting.free != 0,
            load=(slots.in_flight + slots.waiting) / served.share.weight,
            turn=served.turn,
        )

    async def _wait_out(self) -> None:
        clock = self._router.models.clock
        latest = clock() + LONGEST_WAIT
        while rest := self._rest(self.target):
            if clock() + rest > latest:
                raise self._refusal(self.target)
            await asyncio.sleep(rest)

    def _rest(self, target: "Target") -> float:
        return target.served.health.rest(self._router.models.clock(), target.model)

    def _soonest(self) -> "Target":
        """Return of the model's own backends the one that can be asked first."""
        return min((target for target in self._targets if target.name == self._targets[0].name), key=self._rest)

    def _refusal(self, target: "Target | None" = None) -> AntiphonError:
        """Return why this one cannot be asked; by default the one that can be first, where nobody can."""
        target = target or self._soonest()
        rest, error = self._rest(target), target.served.health.resting_for(target.model)
        return resting(error, rest) if error is not None and rest else target.served.slots.overloaded()


def chains_of(request: CreateResponse, tenant: str) -> list[str]:
    """Return the chains to which a request belongs, the most telling first."""
    named = (request.previous_response_id, request.conversation_id, request.prompt_cache_key)
    return [f"{tenant}\0{name}" for name in named if isinstance(name, str) and name]
