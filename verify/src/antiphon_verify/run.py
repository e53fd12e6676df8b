"""A run: every case against one server, concurrently if the server is fast enough, and the
results.
"""

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace

from antiphon_verify.areas import REQUIREMENTS
from antiphon_verify.case import Case, CaseRun
from antiphon_verify.causes import with_roots
from antiphon_verify.errors import log
from antiphon_verify.exchange import Exchange
from antiphon_verify.http import Subject
from antiphon_verify.prerequisites import Standing, with_needs
from antiphon_verify.reading import legible
from antiphon_verify.report import Result, curl, displayed, replay
from antiphon_verify.requirement import Requirement, Verdict, weightiest
from antiphon_verify.traits import find_traits
from antiphon_verify.trial import Traits

PATIENCE = 8
"""Consecutive cases without a complete response, after which no more are sent."""

SKIPPED = Verdict("skipped", "Skipped on request.")

UNRESPONSIVE = Verdict(
    "skipped", "The server had left many requests unanswered, so no more were sent."
)


@dataclass(frozen=True, slots=True)
class FinishedCase:
    """A case after its end."""

    case: Case
    verdicts: Mapping[str, Verdict]
    exchanges: Sequence[Exchange]

    @property
    def is_unanswered(self) -> bool:
        """Whether no response was complete."""
        return all(exchange.fault for exchange in self.exchanges)

    @property
    def own(self) -> set[str]:
        """The ids that it judged, except those judged in passing."""
        return self.verdicts.keys() & set(self.case.own)

    def without(self, ids: Set[str]) -> "FinishedCase":
        """Return it without its verdicts on these ids."""
        return replace(
            self,
            verdicts={one: verdict for one, verdict in self.verdicts.items() if one not in ids},
        )


@dataclass
class Run:
    """The cases of a run, and the server.

    `limit` is the timeout of a case in seconds. `at_once` is the number of concurrent cases; if it
    is None, the server's traits decide. `on_done` is called after each case.
    """

    subject: Subject
    model: str
    limit: float = 60.0
    at_once: int | None = None
    on_done: Callable[[], None] = lambda: None
    now: Callable[[], float] = time.monotonic
    _unanswered: int = field(default=0, init=False)
    _traits: Traits = field(default=Traits(), init=False)

    async def try_all(self, cases: Sequence[Case]) -> list[FinishedCase]:
        """Run the cases; return them in their order."""
        async with self.subject.visit(self.limit) as visit:
            self._traits = await find_traits(visit, self.model, self.now)
        slots = asyncio.Semaphore(self.at_once or self._traits.at_once)
        return list(await asyncio.gather(*(self._try(case, slots) for case in cases)))

    async def _try(self, case: Case, slots: asyncio.Semaphore) -> FinishedCase:
        async with slots:
            tools_url = self.subject.tools.url if self.subject.tools else ""
            playing = CaseRun(case, self.model, self._traits, tools_url)
            try:
                await self._play(playing)
            except Exception as error:
                # No response of a server can end the run; if a case raises because of one, that is
                # a bug in the suite.
                log.error("A fault in the case %s", case.name, exc_info=error)
                playing.end(
                    Verdict("failed", f"The response could not be judged ({type(error).__name__}).")
                )
            tried = FinishedCase(case, playing.trial.verdicts, playing.trial.exchanges)
            if tried.exchanges:
                self._unanswered = self._unanswered + 1 if tried.is_unanswered else 0
            self.on_done()
            return tried

    async def _play(self, playing: CaseRun) -> None:
        if self._unanswered >= PATIENCE:
            playing.end(UNRESPONSIVE)
            return
        playing.begin()
        async with self.subject.visit(self.limit) as visit:
            while playing.step is not None:
                playing.answer(await visit.perform(playing.step))


def results(
    requirements: Iterable[Requirement], tried: Sequence[FinishedCase], known: Mapping[str, str]
) -> list[Result]:
    """Return the result of each requirement; `known` maps ids to the reason why this server is
    known to fail them.

    A failed prerequisite that was not selected comes first: it is the root cause.
    """
    wanted = {one.id: one for one in requirements}
    tried = [replace(one, verdicts=with_roots(one.verdicts)) for one in tried]
    needed = with_needs(set(wanted))
    caused = {
        its.root
        for one in tried
        for name, its in one.verdicts.items()
        if name in needed and its.root
    }
    judged = {name: _judged(name, tried) for name in needed | with_needs(caused)}
    standing = Standing(
        {name: verdict for name, (verdict, _) in judged.items()}, _alone(judged, tried)
    )
    found = {name: standing.of(name) for name in wanted}
    roots = dict.fromkeys(root for _, root in found.values() if root and root not in wanted)
    causes = [_result(REQUIREMENTS[root], *judged[root], known.get(root, "")) for root in roots]
    listed = [
        _result(wanted[name], verdict, judged[name][1], known.get(name, ""), root)
        for name, (verdict, root) in found.items()
    ]
    return [*causes, *listed]


def _judged(name: str, tried: Sequence[FinishedCase]) -> tuple[Verdict, Sequence[Exchange]]:
    """Return the verdict of all cases on a requirement, and the exchanges of the case that decided
    it.
    """
    judged = [(one.verdicts[name], one.exchanges) for one in tried if name in one.verdicts]
    verdict = weightiest([verdict for verdict, _ in judged] or [SKIPPED])
    return verdict, next((exchanges for its, exchanges in judged if its is verdict), ())


def _alone(names: Iterable[str], tried: Sequence[FinishedCase]) -> dict[str, Verdict]:
    """Return the verdicts of the cases that are about a requirement, without those that judge it in
    passing.
    """
    found = {name: [one.verdicts[name] for one in tried if name in one.own] for name in names}
    return {name: weightiest(verdicts) for name, verdicts in found.items() if verdicts}


def _result(
    requirement: Requirement,
    verdict: Verdict,
    exchanges: Sequence[Exchange],
    known: str,
    root: str = "",
) -> Result:
    is_failed = verdict.outcome == "failed"
    showing = exchanges[max(verdict.seen - 1, 0) : verdict.seen] if is_failed else ()
    return Result(
        id=requirement.id,
        level=requirement.level,
        kind=requirement.kind,
        source=requirement.source,
        sentence=requirement.sentence,
        outcome="skipped"
        if known and verdict.outcome in ("failed", "blocked")
        else verdict.outcome,
        came=legible(verdict.came),
        known=known,
        place=legible(verdict.place) if is_failed else "",
        blocked_by=root,
        exchanges=tuple(map(displayed, showing)),
        curl="".join(legible(curl(one.request) or replay(requirement.id)) for one in showing),
    )
