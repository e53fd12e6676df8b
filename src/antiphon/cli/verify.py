"""`antiphon verify`: checks which requirements of the two APIs a server meets."""

import asyncio
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

import msgspec
import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from antiphon.cli.findings import print_matrix, print_report, print_requirements
from antiphon.cli.flags import ConfigFlag, StoreFlag
from antiphon.cli.settings import read_settings
from antiphon.cli.with_store import notice, with_store
from antiphon.config import check_url, clean_key
from antiphon.conformance.choice import chosen, under
from antiphon.conformance.difference import changes, told
from antiphon.conformance.graphic import badge, chart
from antiphon.conformance.html import to_html
from antiphon.conformance.judging import MASK, SHORTEST_KEY, Plan, judge, try_all
from antiphon.conformance.markdown import matrix_markdown
from antiphon.conformance.matrix import matrix_html
from antiphon.conformance.profile import load_profile
from antiphon.conformance.reading import legible
from antiphon.conformance.report import Report, decode_reports, encode_report, raw
from antiphon.errors import ConfigError
from antiphon.storage.contract import Store
from antiphon.storage.operations import reports as stored_reports

HERE = "http://127.0.0.1:8321/v1"

app = typer.Typer(
    invoke_without_command=True,
    add_completion=False,
    rich_markup_mode=None,
)

OnlyFlag = Annotated[
    list[str] | None,
    typer.Option(metavar="AREA", help="Area or requirement to check, several separated by commas. Can be repeated."),
]
SkipFlag = Annotated[
    list[str] | None,
    typer.Option(metavar="ID", help="Area or requirement to skip, several separated by commas. Can be repeated."),
]


@app.callback()
def verify(
    context: typer.Context,
    base_url: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="Base URL, ending in /v1. Default: that of the profile, OPENAI_BASE_URL, or Antiphon on this machine.",
        ),
    ] = None,
    model: Annotated[
        str, typer.Option(metavar="MODEL", help="Model to test with. Default: the first one that the server lists.")
    ] = "",
    api: Annotated[str, typer.Option(metavar="API", help="API to check: chat, responses or all.")] = "all",
    only: OnlyFlag = None,
    skip: SkipFlag = None,
    profile: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Known violations of the server: a name such as ollama, or a TOML file."),
    ] = None,
    key_env: Annotated[
        str | None, typer.Option(metavar="NAME", help="Environment variable with the API key. Default: OPENAI_API_KEY.")
    ] = None,
    json: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the report to this file as JSON.")] = None,
    html: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the report to this file as an HTML page.")
    ] = None,
    save: Annotated[bool, typer.Option("--save", help="Save the report in the store, for the console.")] = False,
    store: StoreFlag = None,
    config: ConfigFlag = None,
    timeout: Annotated[float, typer.Option(metavar="SECONDS", min=0.1, help="Time limit of each case.")] = 60.0,
    parallel: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="Number of concurrent cases. Default: adapts to the server's speed."),
    ] = None,
    verbose: Annotated[bool, typer.Option("--verbose", help="Show the requests and replies of each failure.")] = False,
    name: Annotated[str, typer.Option(metavar="NAME", help="Name of the server in the report.")] = "",
    about: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY=VALUE", help="Fact to add to the report, such as version=1.2. Can be repeated."),
    ] = None,
    replay: Annotated[
        str | None, typer.Option(metavar="ID", help="Repeat the requests of this requirement, and print the raw bytes.")
    ] = None,
) -> None:
    """Check a server against the requirements of both APIs.

    The server can be any implementation of the Responses API or Chat Completions. Each failed requirement is printed
    with the cause and a curl command. The exit code is 0 only if the server meets every `must` that was checked.

    Examples:
      antiphon verify
      antiphon verify --base-url http://127.0.0.1:8000/v1 --api chat --json report.json
    """
    if context.invoked_subcommand:
        return
    known = load_profile(profile) if profile else None
    key = clean_key(os.environ, key_env or (known.key_env if known else "OPENAI_API_KEY"))
    plan = Plan(
        base_url=_url(base_url or (known.base_url if known else "") or os.environ.get("OPENAI_BASE_URL") or HERE),
        requirements=chosen(api, [replay] if replay else _split(only)),
        model=model,
        name=name,
        about=_pairs(about),
        key=key,
        skip=frozenset(under(_split(skip))),
        profile=known,
        limit=timeout,
        at_once=1 if replay else parallel,
    )
    if replay:
        _replay(plan)
        return
    for path in filter(None, (json, html)):
        _write(path, b"", "ab")  # report an unwritable file now, not after a minute; existing content stays until then
    if save:
        _check_store(store, config)
    report = asyncio.run(_judge(plan))
    if json:
        _write(json, encode_report(report))
    if html:
        _write(html, to_html(report).encode())
    if save:
        _save(report, store, config)
    print_report(Console(), report, is_verbose=verbose)
    raise typer.Exit(0 if report.conforms else 1)


@app.command("list")
def list_requirements(
    area: Annotated[
        str | None, typer.Argument(metavar="AREA", help="Area or requirement to list. Default: all.")
    ] = None,
) -> None:
    """List the requirements with their IDs, levels and sources.

    Examples:
      antiphon verify list responses:background
    """
    print_requirements(Console(), chosen(only=[area] if area else []))


ReportsArgument = Annotated[list[Path], typer.Argument(metavar="REPORT.json", help="Report from `--json`.")]

ReportArgument = Annotated[Path, typer.Argument(metavar="REPORT.json", help="Report from `--json`.")]

NamesFlag = Annotated[
    list[str] | None,
    typer.Option("--name", metavar="NAME", help="Name of a column, in the order of the reports. Can be repeated."),
]


@app.command()
def matrix(
    reports: ReportsArgument,
    html: Annotated[bool, typer.Option("--html", help="Print an HTML page instead of a table.")] = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown instead of a table.")] = False,
    name: NamesFlag = None,
) -> None:
    """Compare the reports of servers side by side.

    Examples:
      antiphon verify matrix ollama.json vllm.json --markdown
    """
    read = _named(reports, name or [])
    if html or markdown:
        sys.stdout.write(matrix_html(read) if html else matrix_markdown(read))
        return
    print_matrix(Console(), read)


@app.command("chart")
def print_chart(reports: ReportsArgument, name: NamesFlag = None) -> None:
    """Print a chart of the results by area, as SVG.

    The chart has a column for each report.

    Examples:
      antiphon verify chart report.json > chart.svg
    """
    sys.stdout.write(chart(_named(reports, name or [])))


@app.command("badge")
def print_badge(report: ReportArgument) -> None:
    """Print a badge with the number of met `must` requirements, as SVG.

    Examples:
      antiphon verify badge report.json > badge.svg
    """
    sys.stdout.write(badge(_decoded([report])[0]))


@app.command()
def diff(
    old: Annotated[Path, typer.Argument(metavar="OLD.json", help="Earlier report.")],
    new: Annotated[Path, typer.Argument(metavar="NEW.json", help="Later report.")],
) -> None:
    """Compare two reports.

    Lists the requirements with a different outcome in the later report, regressions first. The exit code is 1 if there
    is a regression.

    Examples:
      antiphon verify diff before.json after.json
    """
    found = changes(*_decoded([old, new]))
    for line in told(found):
        sys.stdout.write(f"{legible(line)}\n")
    raise typer.Exit(1 if any(one.is_worse for one in found) else 0)


def _decoded(paths: Sequence[Path]) -> list[Report]:
    return decode_reports([(str(path), _read(path)) for path in paths])


def _named(paths: Sequence[Path], names: Sequence[str]) -> list[Report]:
    """Return the reports with their names: the name at the same place in `names`, else its own, else the file's."""
    if len(names) > len(paths):
        raise ConfigError(
            f"There are {len(names)} names for {len(paths)} reports. Use at most one --name for each report."
        )
    chosen_names = [*names, *("" for _ in paths[len(names) :])]
    return [
        msgspec.structs.replace(report, name=chosen or report.name or path.stem)
        for report, chosen, path in zip(_decoded(paths), chosen_names, paths, strict=True)
    ]


def _pairs(values: Sequence[str] | None) -> dict[str, str]:
    pairs = [value.partition("=") for value in values or ()]
    for key, separator, _ in pairs:
        if not key or not separator:
            raise ConfigError("--about has an invalid value. Write it as KEY=VALUE, such as --about version=1.2.")
    return {key: value for key, _, value in pairs}


async def _judge(plan: Plan) -> Report:
    console = Console(stderr=True)
    if not console.is_terminal:  # rich 13 prints an empty line there, even for a progress that is disabled
        return await judge(plan)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task(f"Judging {plan.base_url}", total=len(plan.cases))
        return await judge(plan, lambda: progress.advance(task))


def _check_store(store: str | None, config: Path | None) -> None:
    """Raise `ConfigError` or `StoreError` if no report can be saved."""
    if read_settings(config, store=store).store == "sqlite://":
        raise ConfigError("The store is in memory, so the report would be lost. Set `store` to a file.")
    with_store(store, config, Store.check_writable)


def _save(report: Report, store: str | None, config: Path | None) -> None:
    from antiphon.stored.console.reports import stored_report  # noqa: PLC0415 - for this option only

    kept = stored_report(encode_report(report))
    with_store(store, config, lambda opened: opened.write(stored_reports.put, kept))
    notice(f"The report was saved in the store as {kept.id}. The console shows it under Conformance.")


def _replay(plan: Plan) -> None:
    tried, _, _ = asyncio.run(try_all(plan, plan.cases))
    for one in tried:
        for exchange in one.exchanges:
            shown = raw(exchange)
            if len(plan.key) >= SHORTEST_KEY:
                shown = shown.replace(plan.key.encode(), MASK.encode())
            sys.stdout.buffer.write(shown)


def _split(names: list[str] | None) -> list[str]:
    return [name.strip() for value in names or () for name in value.split(",") if name.strip()]


def _url(url: str) -> str:
    check_url(url, "server")
    return url.rstrip("/")


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}.") from error


def _write(path: Path, data: bytes, mode: Literal["wb", "ab"] = "wb") -> None:
    try:
        with path.open(mode) as file:
            file.write(data)
    except OSError as error:
        raise ConfigError(f"{path} cannot be written: {error.strerror}.") from error
