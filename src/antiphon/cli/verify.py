"""`antiphon verify`: the command of `antiphon-verify`, which can save its report in the store for
the console.
"""

from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from antiphon.cli.flags import ConfigFlag, StoreFlag
from antiphon.cli.settings import read_settings
from antiphon.cli.with_store import notice, with_store
from antiphon.errors import ConfigError
from antiphon.storage.operations import reports as stored_reports
from antiphon.storage.store import Store
from antiphon_verify.cli import flags
from antiphon_verify.cli.checking import Options, check
from antiphon_verify.cli.reports import add_commands
from antiphon_verify.errors import VerifyError
from antiphon_verify.report import Report, encode_report


class VerifyCommands(TyperGroup):
    """The commands of `antiphon verify`: their errors are those of the server's command line."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command. Raises `ConfigError`."""
        try:
            return super().invoke(ctx)
        except VerifyError as error:
            raise ConfigError(str(error)) from error


app = typer.Typer(
    cls=VerifyCommands,
    invoke_without_command=True,
    add_completion=False,
    rich_markup_mode=None,
)


@app.callback()
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
    save: Annotated[
        bool, typer.Option("--save", help="Save the report in the store, for the console.")
    ] = False,
    store: StoreFlag = None,
    config: ConfigFlag = None,
    timeout: flags.TimeoutFlag = 60.0,
    parallel: flags.ParallelFlag = None,
    verbose: flags.VerboseFlag = False,
    name: flags.NameFlag = "",
    about: flags.AboutFlag = None,
    replay: flags.ReplayFlag = None,
) -> None:
    """Check a server against the requirements of both APIs.

    The server can be any implementation of the Responses API or Chat Completions. Each failed
    requirement is printed with the cause and a curl command. The exit code is 0 only if the server
    meets every `must` that was checked.

    Examples:
      antiphon verify
      antiphon verify --base-url http://127.0.0.1:8000/v1 --api chat --json report.json
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
    if not save:
        raise typer.Exit(check(options))
    code = check(
        options,
        before=lambda: _check_store(store, config),
        after=lambda report: _save(report, store, config),
    )
    raise typer.Exit(code)


add_commands(app, "antiphon verify")


def _check_store(store: str | None, config: Path | None) -> None:
    """Raise `ConfigError` or `StoreError` if no report can be saved."""
    if read_settings(config, store=store).store == "sqlite://":
        raise ConfigError(
            "The store is in memory, so the report would be lost. Set `store` to a file."
        )
    with_store(store, config, Store.check_writable)


def _save(report: Report, store: str | None, config: Path | None) -> None:
    from antiphon.console.reports import stored_report  # noqa: PLC0415 - for this option only

    stored = stored_report(encode_report(report))
    with_store(store, config, lambda opened: opened.write(stored_reports.put, stored))
    notice(
        f"The report was saved in the store as {stored.id}. The console shows it under Conformance."
    )
