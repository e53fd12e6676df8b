"""Judges one server: from the plan of a run to its report."""

import ipaddress
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import msgspec
from yarl import URL

from antiphon_verify.areas import CASES
from antiphon_verify.case import Case
from antiphon_verify.choice import is_under
from antiphon_verify.errors import VerifyError
from antiphon_verify.exchange import Request
from antiphon_verify.http import Subject
from antiphon_verify.prerequisites import with_needs
from antiphon_verify.profile import Profile
from antiphon_verify.reading import at, is_text, legible, listed
from antiphon_verify.report import Report, Result, Shown
from antiphon_verify.requirement import Requirement
from antiphon_verify.run import FinishedCase, Run, results
from antiphon_verify.version import __version__

if TYPE_CHECKING:
    from antiphon_verify.tool_server import ToolServer

FIRST_TIMEOUT = 15.0
"""Timeout in seconds of the first request to a server."""

AGENT_OWNER = "antiphon-agent"
"""`owned_by` of an agent in Antiphon's list: a program, which accepts few parameters."""

SHORTEST_KEY = 8
"""Length from which a key is a secret; a shorter one, such as `none`, is an ordinary word."""

MASK = "***"


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The requirements to judge, and the server."""

    base_url: str
    requirements: Sequence[Requirement]
    model: str = ""
    """The model to test; if empty, the first one listed that is not an agent."""
    key: str = ""
    name: str = ""
    """The name of the server in the report."""
    about: Mapping[str, str] = field(default_factory=dict)
    """Further notes for the report."""
    skip: frozenset[str] = frozenset()
    """Ids to skip."""
    profile: Profile | None = None
    """Known deviations of this server."""
    limit: float = 60.0
    """Timeout of a case in seconds."""
    at_once: int | None = None
    """Cases that run concurrently; chosen by the server's speed if None."""

    @property
    def cases(self) -> list[Case]:
        """The cases that judge the chosen requirements."""
        return [case for case in CASES if not self._wanted.isdisjoint(case.ids)]

    @property
    def all_cases(self) -> list[Case]:
        """The cases, with those that judge the prerequisites of the requirements."""
        needed = with_needs(self._wanted) - self._wanted - self.skip
        return [
            case
            for case in CASES
            if not (self._wanted.isdisjoint(case.ids) and needed.isdisjoint(case.own))
        ]

    @property
    def _wanted(self) -> set[str]:
        return {requirement.id for requirement in self.requirements} - self.skip

    @property
    def wants_tools(self) -> bool:
        """Whether a requirement needs an MCP server, and the tested server can reach ours."""
        return is_here(self.base_url) and any(
            is_under(one.id, "responses:mcp") for one in self.requirements
        )


async def judge(plan: Plan, on_done: Callable[[], None] = lambda: None) -> Report:
    """Judge a server and return the report; `on_done` is called after each case.

    Raises `VerifyError` if nothing answers at the base URL, or if no model is named and none is
    listed.
    """
    started_at = int(time.time())
    began = time.monotonic()
    tried, model, requests = await try_all(plan, plan.all_cases, on_done)
    known = plan.profile.reasons(model) if plan.profile else {}
    return Report(
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
) -> tuple[list[FinishedCase], str, int]:
    """Run cases; return them, the tested model, and the number of requests. Raises as `judge`."""
    async with AsyncExitStack() as stack:
        tools = await _bring_tools(plan, stack)
        subject = await stack.enter_async_context(Subject(plan.base_url, plan.key, tools))
        model = await _model(plan, subject)
        tried = await Run(subject, model, plan.limit, plan.at_once, on_done).try_all(cases)
    return [one.without(plan.skip) for one in tried], model, subject.requests


def masked(result: Result, key: str) -> Result:
    """Return a result without the key, even if the server repeated it."""
    exchanges = tuple(
        Shown(request=hidden(one.request, key), answer=hidden(one.answer, key))
        for one in result.exchanges
    )
    return msgspec.structs.replace(
        result,
        came=hidden(result.came, key),
        place=hidden(result.place, key),
        curl=hidden(result.curl, key),
        exchanges=exchanges,
    )


def hidden(text: str, key: str) -> str:
    """Return a text without the key; a key too short to be a secret is treated as an ordinary
    word.
    """
    return text.replace(key, MASK) if len(key) >= SHORTEST_KEY else text


def is_here(base_url: str) -> bool:
    """Whether a server at this URL is on this machine, according to its host name."""
    host = URL(base_url).host or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


async def _bring_tools(plan: Plan, stack: AsyncExitStack) -> "ToolServer | None":
    if not plan.wants_tools:
        return None
    from antiphon_verify.tool_server import ToolServer  # noqa: PLC0415 - runs without it do not load a server

    return await stack.enter_async_context(ToolServer())


async def _model(plan: Plan, subject: Subject) -> str:
    """Return the model to test; this also checks that the server answers."""
    async with subject.visit(min(FIRST_TIMEOUT, plan.limit)) as visit:
        exchange = await visit.fetch(Request(method="GET", path="/models"))
    if not exchange.is_reached:
        raise VerifyError(
            f"No server answers at {plan.base_url}: {exchange.fault}. Start it, or name another "
            "URL with --base-url."
        )
    if plan.model:
        return plan.model
    models = [one for one in listed(exchange.json, "data") if at(one, "owned_by") != AGENT_OWNER]
    first = at(models, 0, "id")
    if not is_text(first):
        came = legible(hidden(exchange.came, plan.key))
        raise VerifyError(f"{plan.base_url} lists no models ({came}). Name one with --model.")
    return first
