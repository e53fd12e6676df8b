"""One server judged: the plan of a run in, its report out."""

import ipaddress
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import msgspec
from yarl import URL

from antiphon.conformance.areas import CASES
from antiphon.conformance.case import Case
from antiphon.conformance.choice import is_under
from antiphon.conformance.exchange import Request
from antiphon.conformance.http import Subject
from antiphon.conformance.prerequisites import with_needs
from antiphon.conformance.profile import Profile
from antiphon.conformance.reading import at, is_text, legible
from antiphon.conformance.report import FORMAT, Report, Result, Shown
from antiphon.conformance.requirement import Requirement
from antiphon.conformance.run import Run, Tried, results
from antiphon.errors import ConfigError
from antiphon.version import __version__

if TYPE_CHECKING:
    from antiphon.conformance.tool_server import ToolServer

LOOK = 15.0
"""Seconds for the first look at a server."""

SHORTEST_KEY = 8
"""Characters of a key that is a secret; a shorter one, such as `none`, is a word."""

MASK = "***"


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What to judge of whom."""

    base_url: str
    requirements: Sequence[Requirement]
    model: str = ""
    """The first that the server lists, where it is empty."""
    key: str = ""
    name: str = ""
    """What the server is called in the report."""
    about: Mapping[str, str] = field(default_factory=dict)
    """What else the report is to say of the run."""
    skip: frozenset[str] = frozenset()
    """Ids to leave out."""
    profile: Profile | None = None
    """What this server is known to break."""
    limit: float = 60.0
    """Seconds for a case."""
    at_once: int | None = None
    """Cases side by side; by the server's speed where it is None."""

    @property
    def cases(self) -> list[Case]:
        """The cases that judge what is to be judged."""
        return [case for case in CASES if not self._wanted.isdisjoint(case.ids)]

    @property
    def all_cases(self) -> list[Case]:
        """The cases, with those that judge what the requirements need."""
        needed = with_needs(self._wanted) - self._wanted - self.skip
        return [case for case in CASES if not (self._wanted.isdisjoint(case.ids) and needed.isdisjoint(case.own))]

    @property
    def _wanted(self) -> set[str]:
        return {requirement.id for requirement in self.requirements} - self.skip

    @property
    def wants_tools(self) -> bool:
        """Whether something is to be judged that needs an MCP server, of a server that can reach one of ours."""
        return is_here(self.base_url) and any(is_under(one.id, "responses:mcp") for one in self.requirements)


async def judge(plan: Plan, on_done: Callable[[], None] = lambda: None) -> Report:
    """Judge a server and return the report; `on_done` is called after each case.

    Raises `ConfigError` where nothing answers at the base URL, and where no model is named and none is listed.
    """
    started_at, began = int(time.time()), time.monotonic()
    tried, model, requests = await try_all(plan, plan.all_cases, on_done)
    known = plan.profile.reasons(model) if plan.profile else {}
    return Report(
        format=FORMAT,
        name=plan.name,
        about=dict(plan.about),
        version=__version__,
        base_url=plan.base_url,
        model=legible(model),
        profile=plan.profile.name if plan.profile else "",
        started_at=started_at,
        seconds=round(time.monotonic() - began, 1),
        requests=requests,
        results=tuple(masked(one, plan.key) for one in results(plan.requirements, tried, known)),
    )


async def try_all(
    plan: Plan, cases: Sequence[Case], on_done: Callable[[], None] = lambda: None
) -> tuple[list[Tried], str, int]:
    """Try cases; return them, the model that was asked, and the number of requests. Raises as `judge`."""
    async with AsyncExitStack() as stack:
        tools = await _bring_tools(plan, stack)
        subject = await stack.enter_async_context(Subject(plan.base_url, plan.key, tools))
        model = await _model(plan, subject)
        tried = await Run(subject, model, plan.limit, plan.at_once, on_done).try_all(cases)
    return [one.without(plan.skip) for one in tried], model, subject.requests


def masked(result: Result, key: str) -> Result:
    """Return a result in which the key is not to be read, whatever the server repeated."""
    exchanges = tuple(
        Shown(request=hidden(one.request, key), answer=hidden(one.answer, key)) for one in result.exchanges
    )
    return msgspec.structs.replace(
        result,
        came=hidden(result.came, key),
        place=hidden(result.place, key),
        curl=hidden(result.curl, key),
        exchanges=exchanges,
    )


def hidden(text: str, key: str) -> str:
    """Return a text in which the key is not to be read; a key too short to be a secret is a word like others."""
    return text.replace(key, MASK) if len(key) >= SHORTEST_KEY else text


def is_here(base_url: str) -> bool:
    """Whether a server at this URL is on this machine, as far as its name tells."""
    host = URL(base_url).host or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


async def _bring_tools(plan: Plan, stack: AsyncExitStack) -> "ToolServer | None":
    if not plan.wants_tools:
        return None
    from antiphon.conformance.tool_server import ToolServer  # noqa: PLC0415 - who brings none need not load a server

    return await stack.enter_async_context(ToolServer())


async def _model(plan: Plan, subject: Subject) -> str:
    """Return the model to ask; see by the way that somebody is there."""
    async with subject.visit(min(LOOK, plan.limit)) as visit:
        exchange = await visit.fetch(Request(method="GET", path="/models"))
    if not exchange.is_reached:
        raise ConfigError(
            f"No server answers at {plan.base_url}: {exchange.fault}. Start it, or name another URL with --base-url."
        )
    if plan.model:
        return plan.model
    first = at(exchange.json, "data", 0, "id")
    if not is_text(first):
        came = legible(hidden(exchange.came, plan.key))
        raise ConfigError(f"{plan.base_url} lists no models ({came}). Name one with --model.")
    return first
