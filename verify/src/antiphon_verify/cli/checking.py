"""One check from the options of the command line to the exit code: judge, write the report, print
the findings.
"""

import asyncio
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from antiphon_verify.address import check_base_url, read_key
from antiphon_verify.choice import chosen, under
from antiphon_verify.cli.files import write_file
from antiphon_verify.cli.findings import print_report
from antiphon_verify.errors import VerifyError
from antiphon_verify.html import report_page
from antiphon_verify.judging import MASK, SHORTEST_KEY, Plan, judge, try_all
from antiphon_verify.profile import load_profile
from antiphon_verify.report import Report, encode_report, raw

HERE = "http://127.0.0.1:8321/v1"
"""Antiphon on this machine."""


@dataclass(frozen=True, kw_only=True)
class Options:
    """The options of a check, as `flags.py` describes them."""

    base_url: str | None
    model: str
    api: str
    only: Sequence[str] | None
    skip: Sequence[str] | None
    profile: str | None
    key_env: str | None
    json: Path | None
    html: Path | None
    timeout: float
    parallel: int | None
    verbose: bool
    name: str
    about: Sequence[str] | None
    replay: str | None

    def plan(self) -> Plan:
        """Return the plan of the run. Raises `VerifyError`."""
        profile = load_profile(self.profile) if self.profile else None
        profile_url, profile_key = (
            (profile.base_url, profile.key_env) if profile else ("", "OPENAI_API_KEY")
        )
        key = read_key(os.environ, self.key_env or profile_key)
        return Plan(
            base_url=check_base_url(
                self.base_url or profile_url or os.environ.get("OPENAI_BASE_URL") or HERE
            ),
            requirements=chosen(self.api, [self.replay] if self.replay else _split(self.only)),
            model=self.model,
            name=self.name,
            about=_pairs(self.about),
            key=key,
            skip=frozenset(under(_split(self.skip))),
            profile=profile,
            limit=self.timeout,
            at_once=1 if self.replay else self.parallel,
        )


def check(
    options: Options,
    before: Callable[[], None] = lambda: None,
    after: Callable[[Report], None] = lambda report: None,
) -> int:
    """Check a server and print what was found; return the exit code. Raises `VerifyError`.

    `before` runs before the first request, so that it can end the run, and `after` receives the
    report.
    """
    plan = options.plan()
    if options.replay:
        _replay(plan)
        return 0
    for path in filter(None, (options.json, options.html)):
        write_file(
            path, b"", "ab"
        )  # report an unwritable file now, not after a minute; the content stays until then
    before()
    report = asyncio.run(_judge(plan))
    if options.json:
        write_file(options.json, encode_report(report))
    if options.html:
        write_file(options.html, report_page(report).encode())
    after(report)
    print_report(Console(), report, is_verbose=options.verbose)
    return 0 if report.conforms else 1


async def _judge(plan: Plan) -> Report:
    console = Console(stderr=True)
    if (
        not console.is_terminal
    ):  # rich 13 prints an empty line there, even for a progress that is disabled
        return await judge(plan)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task(f"Judging {plan.base_url}", total=len(plan.cases))
        return await judge(plan, lambda: progress.advance(task))


def _replay(plan: Plan) -> None:
    tried, _, _ = asyncio.run(try_all(plan, plan.cases))
    for one in tried:
        for exchange in one.exchanges:
            content = raw(exchange)
            if len(plan.key) >= SHORTEST_KEY:
                content = content.replace(plan.key.encode(), MASK.encode())
            sys.stdout.buffer.write(content)


def _pairs(values: Sequence[str] | None) -> dict[str, str]:
    pairs = [value.partition("=") for value in values or ()]
    for key, separator, _ in pairs:
        if not key or not separator:
            raise VerifyError(
                "--about has an invalid value. Write it as KEY=VALUE, such as --about version=1.2."
            )
    return {key: value for key, _, value in pairs}


def _split(names: Sequence[str] | None) -> list[str]:
    return [name.strip() for value in names or () for name in value.split(",") if name.strip()]
