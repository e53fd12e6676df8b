"""The command line of `antiphon-verify`, parsed by Typer."""

from typing import Annotated

import typer
from rich.console import Console

from antiphon_verify.cli import flags
from antiphon_verify.cli.checking import Options, check
from antiphon_verify.cli.reports import PROGRAM, add_commands, help_text
from antiphon_verify.version import __version__


def _show_version(wanted: bool) -> None:
    if wanted:
        Console().print(f"{PROGRAM} {__version__}", highlight=False)
        raise typer.Exit


def verify(
    context: typer.Context,
    base_url: flags.BaseUrlFlag = None,
    model: flags.ModelFlag = "",
    api: flags.ApiFlag = "all",
    only: flags.OnlyFlag = None,
    skip: flags.SkipFlag = None,
    profile: flags.ProfileFlag = None,
    key_env: flags.KeyEnvFlag = None,
    json: flags.JsonFlag = None,
    html: flags.HtmlFlag = None,
    timeout: flags.TimeoutFlag = 60.0,
    parallel: flags.ParallelFlag = None,
    verbose: flags.VerboseFlag = False,
    name: flags.NameFlag = "",
    about: flags.AboutFlag = None,
    replay: flags.ReplayFlag = None,
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    """Check a server against the requirements of the Responses API and Chat Completions.

    The server can be any implementation of either API. Each failed requirement is printed with the
    cause and a curl command. The exit code is 0 only if the server meets every `must` that was
    checked.

    Examples:
      antiphon-verify --base-url http://localhost:11434/v1 --model qwen3
      antiphon-verify --base-url http://127.0.0.1:8000/v1 --api chat --json report.json
    """
    if context.invoked_subcommand:
        return
    options = Options(
        base_url=base_url,
        model=model,
        api=api,
        only=only,
        skip=skip,
        profile=profile,
        key_env=key_env,
        json=json,
        html=html,
        timeout=timeout,
        parallel=parallel,
        verbose=verbose,
        name=name,
        about=about,
        replay=replay,
    )
    raise typer.Exit(check(options))


app = typer.Typer(
    name=PROGRAM,
    invoke_without_command=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
app.callback(help=help_text(verify))(verify)
add_commands(app)
