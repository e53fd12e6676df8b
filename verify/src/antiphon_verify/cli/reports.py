"""The commands about requirements and reports: they check no server."""

import inspect
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated

import msgspec
import typer
from rich.console import Console

from antiphon_verify.choice import chosen
from antiphon_verify.cli.files import read_file
from antiphon_verify.cli.findings import change_lines, print_matrix, print_requirements
from antiphon_verify.comparison import changes
from antiphon_verify.errors import VerifyError
from antiphon_verify.html import badge, chart, matrix_page
from antiphon_verify.markdown import matrix_markdown
from antiphon_verify.reading import legible
from antiphon_verify.report import Report, decode_reports

PROGRAM = "antiphon-verify"
"""The program that the help texts of this package name."""

ReportsArgument = Annotated[
    list[Path], typer.Argument(metavar="REPORT.json", help="Report from `--json`.")
]

ReportArgument = Annotated[
    Path, typer.Argument(metavar="REPORT.json", help="Report from `--json`.")
]

NamesFlag = Annotated[
    list[str] | None,
    typer.Option(
        "--name",
        metavar="NAME",
        help="Name of a column, in the order of the reports. Can be repeated.",
    ),
]


def list_requirements(
    area: Annotated[
        str | None,
        typer.Argument(metavar="AREA", help="Area or requirement to list. Default: all."),
    ] = None,
) -> None:
    """List the requirements with their IDs, levels and sources.

    Examples:
      antiphon-verify list responses:background
    """
    print_requirements(Console(), chosen(only=[area] if area else []))


def compare(
    reports: ReportsArgument,
    html: Annotated[
        bool, typer.Option("--html", help="Print an HTML page instead of a table.")
    ] = False,
    markdown: Annotated[
        bool, typer.Option("--markdown", help="Print Markdown instead of a table.")
    ] = False,
    name: NamesFlag = None,
) -> None:
    """Compare the reports of servers side by side.

    Examples:
      antiphon-verify matrix ollama.json vllm.json --markdown
    """
    read = _named(reports, name or [])
    if html or markdown:
        sys.stdout.write(matrix_page(read) if html else matrix_markdown(read))
        return
    print_matrix(Console(), read)


def print_chart(reports: ReportsArgument, name: NamesFlag = None) -> None:
    """Print a chart of the results by area, as SVG.

    The chart has a column for each report.

    Examples:
      antiphon-verify chart report.json > chart.svg
    """
    sys.stdout.write(chart(_named(reports, name or [])))


def print_badge(report: ReportArgument) -> None:
    """Print a badge with the number of met `must` requirements, as SVG.

    Examples:
      antiphon-verify badge report.json > badge.svg
    """
    sys.stdout.write(badge(_decoded([report])[0]))


def diff(
    old: Annotated[Path, typer.Argument(metavar="OLD.json", help="Earlier report.")],
    new: Annotated[Path, typer.Argument(metavar="NEW.json", help="Later report.")],
) -> None:
    """Compare two reports.

    Lists the requirements with a different outcome in the later report, regressions first. The exit
    code is 1 if there is a regression.

    Examples:
      antiphon-verify diff before.json after.json
    """
    found = changes(*_decoded([old, new]))
    for line in change_lines(found):
        sys.stdout.write(f"{legible(line)}\n")
    raise typer.Exit(1 if any(one.is_worse for one in found) else 0)


COMMANDS: dict[str, Callable[..., None]] = {
    "list": list_requirements,
    "matrix": compare,
    "chart": print_chart,
    "badge": print_badge,
    "diff": diff,
}


def add_commands(app: typer.Typer, program: str = PROGRAM) -> None:
    """Add these commands to an application; the examples in their help call it by the name
    `program`.
    """
    for name, function in COMMANDS.items():
        app.command(name, help=help_text(function, program))(function)


def help_text(function: Callable[..., None], program: str = PROGRAM) -> str:
    """Return the docstring of a command as its help: with its examples on lines of their own, for a
    program.
    """
    text = inspect.getdoc(function) or ""
    return text.replace("\n\nExamples:\n", "\n\n\b\nExamples:\n").replace(PROGRAM, program)


def _decoded(paths: Sequence[Path]) -> list[Report]:
    return decode_reports([(str(path), read_file(path)) for path in paths])


def _named(paths: Sequence[Path], names: Sequence[str]) -> list[Report]:
    """Return the reports with their names: the name at the same place in `names`, else its own,
    else the file's.
    """
    if len(names) > len(paths):
        raise VerifyError(
            f"There are {len(names)} names for {len(paths)} reports. Use at most one --name for "
            "each report."
        )
    chosen_names = [*names, *("" for _ in paths[len(names) :])]
    return [
        msgspec.structs.replace(report, name=chosen or report.name or path.stem)
        for report, chosen, path in zip(_decoded(paths), chosen_names, paths, strict=True)
    ]
