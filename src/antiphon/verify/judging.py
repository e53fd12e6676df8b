"""One server judged: the plan of a run in, its report out."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from antiphon.errors import ConfigError
from antiphon.verify.case import Case
from antiphon.verify.cases import CASES
from antiphon.verify.exchange import Request
from antiphon.verify.http import Subject
from antiphon.verify.reading import at, is_text
from antiphon.verify.report import Report
from antiphon.verify.requirement import Requirement
from antiphon.verify.run import Run, results
from antiphon.version import __version__

LOOK = 15.0
"""Seconds for the first look at a server."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What to judge of whom."""

    base_url: str
    requirements: Sequence[Requirement]
    model: str = ""
    """The first that the server lists, where it is empty."""
    key: str = ""
    skip: frozenset[str] = frozenset()
    """Ids to leave out."""
    known: Mapping[str, str] = field(default_factory=dict)
    """By id, why this server is known to break it."""
    profile: str = ""
    limit: float = 60.0
    """Seconds for a case."""
    at_once: int | None = None
    """Cases side by side; by the server's speed where it is None."""

    @property
    def cases(self) -> list[Case]:
        """The cases that judge what is to be judged."""
        wanted = {requirement.id for requirement in self.requirements} - self.skip
        return [case for case in CASES if not wanted.isdisjoint(case.ids)]


async def judge(plan: Plan, on_done: Callable[[], None] = lambda: None) -> Report:
    """Judge a server and return the report; `on_done` is called after each case.

    Raises `ConfigError` where nothing answers at the base URL, and where no model is named and none is listed.
    """
    started_at, began = int(time.time()), time.monotonic()
    async with Subject(plan.base_url, plan.key) as subject:
        model = await _model(plan, subject)
        run = Run(subject, model, plan.limit, plan.at_once, on_done)
        tried = await run.try_all(plan.cases)
    skipped = {requirement.id for requirement in plan.requirements} & plan.skip
    report = Report(
        version=__version__,
        base_url=plan.base_url,
        model=model,
        profile=plan.profile,
        started_at=started_at,
        seconds=round(time.monotonic() - began, 1),
        requests=subject.requests,
        results=tuple(results(plan.requirements, [one.without(skipped) for one in tried], plan.known)),
    )
    return masked(report, plan.key)


def masked(report: Report, key: str) -> Report:
    """Return a report in which the key is not to be read, whatever the server repeated."""
    if not key:
        return report
    return msgspec.convert(_replaced(msgspec.to_builtins(report), key), Report)


def _replaced(value: object, key: str) -> object:
    match value:
        case str():
            return value.replace(key, "***")
        case list() | tuple():
            return [_replaced(one, key) for one in value]
        case dict():
            return {name: _replaced(one, key) for name, one in value.items()}
        case _:
            return value


async def _model(plan: Plan, subject: Subject) -> str:
    """Return the model to ask; see by the way that somebody is there."""
    async with subject.visit(LOOK) as visit:
        exchange = await visit.fetch(Request(method="GET", path="/models"))
    if not exchange.status:
        raise ConfigError(f"Nothing answers at {plan.base_url}: {exchange.fault}.")
    if plan.model:
        return plan.model
    first = at(exchange.json, "data", 0, "id")
    if not is_text(first):
        raise ConfigError(f"{plan.base_url} lists no models ({exchange.came}). Name one with --model.")
    return first
