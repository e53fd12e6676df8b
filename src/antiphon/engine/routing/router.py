"""The way of one response through the backends: whom it asks, and whom then (issue: fail-over before the first byte).

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
from antiphon.engine.routing.choice import Standing, order
from antiphon.engine.routing.slots import LONGEST_WAIT, overloaded
from antiphon.engine.routing.station import Station
from antiphon.engine.routing.verdict import Failure, verdict
from antiphon.errors import AntiphonError, ClientError, log
from antiphon.protocol.requests import CreateResponse

if TYPE_CHECKING:
    from antiphon.engine.models import Models, Target

MOST_ATTEMPTS = 3
"""Backends that are asked one question, one after the other."""

JITTER = (0.05, 0.15)
"""Seconds before the same backend is asked once more."""

MOST_TRAILS = 50_000
"""Chains of which is remembered who served them last."""


class Router:
    """Chooses for every response."""

    def __init__(self, models: "Models") -> None:
        self.models = models
        self.budget = Budget()
        self._trails: OrderedDict[str, str] = OrderedDict()

    async def route(self, model: str, *chains: str, tenant: str = "", is_patient: bool = False) -> "Route":
        """Return the way of a response that belongs to these chains.

        Raises what `Models.candidates` raises, and `AntiphonError` with the wait where nobody can be asked now; who is
        patient gets a way all the same.
        """
        groups = await self.models.candidates(model)
        kin = next((self._trails[chain] for chain in chains if chain in self._trails), "")
        return Route(self, groups, kin, tenant, is_patient=is_patient)

    def follow(self, chains: Sequence[str], station: str) -> None:
        """Remember who served these chains."""
        for chain in chains:
            self._trails[chain] = station
            self._trails.move_to_end(chain)
        while len(self._trails) > MOST_TRAILS:
            self._trails.popitem(last=False)


class Route:
    """One response's way. `target` is whom to ask."""

    def __init__(
        self, router: Router, groups: Sequence[Sequence["Target"]], kin: str, tenant: str, *, is_patient: bool
    ) -> None:
        self._router = router
        self._groups = groups
        self._kin = kin
        self._tenant = tenant
        self.is_patient = is_patient
        self._tried: list[Target] = []
        self._pauses = False
        self._held: Station | None = None
        self._since = 0.0
        target = self._choose()
        if target is None and is_patient:
            target = groups[0][0]
        if target is None:
            raise self._refusal()
        self.target: Target = target

    def renew(self) -> None:
        """Choose again, at the moment of asking: others may have come meanwhile."""
        self.target = self._choose() or self.target

    async def enter(self) -> None:
        """Take a slot of the target; `leave` gives it back. Raises `BackendError` (503) where its queue is full."""
        station = self.target.station
        if self._pauses:
            self._pauses = False
            await asyncio.sleep(random.uniform(*JITTER))  # noqa: S311 - spreads retries, keeps nothing secret
        await station.slots.enter(self._tenant, is_patient=self.is_patient)
        self._held, self._since = station, self._router.models.clock()
        if not self._tried:
            self._router.budget.earn()
        station.asked += 1
        station.turn = max(station.turn, self._earliest()) + 1 / station.share.weight
        station.health.asked(self._since)

    def leave(self) -> None:
        """Give back the slot, where one is held; the target may be another by now."""
        if self._held is not None:
            self._held.slots.leave(self._router.models.clock() - self._since)
            self._held = None

    def answered(self, *chains: str) -> None:
        """The target answered to the end; it is now the one that these chains know."""
        self.target.station.health.succeeded()
        self._router.follow(chains, self.target.station.name)
        self._tried.clear()
        self.is_patient = True

    def broke(self, failure: Failure, error: AntiphonError) -> bool:
        """Note that the target failed; return whether somebody else might be asked in its place."""
        station, found = self.target.station, verdict(failure)
        if not found.moves:
            return False
        station.failed += 1
        left_out = station.health.failed(found, error, self._router.models.clock(), is_gone=failure.status == 0)
        if left_out:
            log.warning("The backend '%s' failed too often and is left out for a while: %s", station.name, error)
        elif found.rest:
            log.warning("The backend '%s' is left alone for %.0f s: %s", station.name, found.rest, error)
        return True

    def moves_on(self, failure: Failure, error: AntiphonError) -> bool:
        """The target failed before its first byte. Return whether `target` is now another, to be asked instead.

        A server that answered with an error costs of the budget; one that did no work may be replaced in any case.
        """
        if not self.broke(failure, error):
            return False
        self._tried.append(self.target)
        if len(self._tried) >= MOST_ATTEMPTS:
            return False
        target = self._choose()
        if target is None or (failure.status and not self._router.budget.spend()):
            return False
        self._pauses = target in self._tried
        self.target = target
        return True

    def _choose(self) -> "Target | None":
        """Return the best that was not asked yet, of the first model that anybody serves; then one that was."""
        fresh = [[target for target in group if target not in self._tried] for group in self._groups]
        again = [list(group) for group in self._groups] if self._tried and sum(map(len, self._groups)) > 1 else []
        return next((found for group in fresh + again if (found := self._best(group)) is not None), None)

    def _best(self, group: Sequence["Target"]) -> "Target | None":
        places = order([self._standing(target) for target in group], takes_ejected=not self._tried)
        return group[places[0]] if places else None

    def _standing(self, target: "Target") -> Standing:
        station, now = target.station, self._router.models.clock()
        slots, sighting = station.slots, station.sighting
        return Standing(
            is_up=station.health.is_up(now),
            rest=station.health.rest(now),
            takes=self.is_patient or slots.takes(self._tenant),
            is_full=slots.is_full,
            is_kin=station.name == self._kin,
            is_loaded=sighting.has_loaded(target.model),
            has_free=sighting.free != 0,
            load=(slots.in_flight + slots.waiting) / station.share.weight,
            turn=station.turn,
        )

    def _earliest(self) -> float:
        """Return whose turn it would be: who was away does not make up for it afterwards."""
        others = [target.station.turn for group in self._groups for target in group]
        return min(others)

    def _refusal(self) -> AntiphonError:
        """Return why nobody can be asked: the first of the model's own backends says."""
        now = self._router.models.clock()
        resting = [target.station.health for target in self._groups[0] if target.station.health.rest(now)]
        if len(resting) < len(self._groups[0]) or not resting:
            busy = [target.station.slots for target in self._groups[0] if not target.station.slots.takes(self._tenant)]
            return busy[0].overloaded() if busy else overloaded()
        first = min(resting, key=lambda health: health.rest(now))
        return _still(first.resting_for or overloaded(), first.rest(now))


def _still(error: AntiphonError, rest: float) -> AntiphonError:
    """Return the error again, with the wait that is left of it."""
    seconds = max(1, -int(-rest // 1))
    again = ClientError if isinstance(error, ClientError) else type(error)
    waits = {"retry-after": str(seconds)} if seconds <= LONGEST_WAIT else {"x-should-retry": "false"}
    message = error.message
    if error.code == "rate_limit_exceeded":
        message = f"Rate limit reached. Please try again in {seconds}s."
    fields = {"status": error.status, "type": error.type, "code": error.code, "param": error.param}
    return again(message, **fields, headers=waits)  # type: ignore[arg-type]


def chains_of(request: CreateResponse, tenant: str) -> list[str]:
    """Return the chains to which a request belongs, the most telling first."""
    named = (request.previous_response_id, request.conversation_id, request.prompt_cache_key)
    return [f"{tenant}\0{name}" for name in named if isinstance(name, str) and name]
