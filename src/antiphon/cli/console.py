"""`antiphon console`: prints a link that signs the operator in to the console."""

import webbrowser
from ipaddress import ip_address
from typing import Annotated

import typer

from antiphon import ids
from antiphon.access.sessions import CODE_LASTS, ConsoleSessions
from antiphon.cli.flags import ConfigFlag, StoreFlag
from antiphon.cli.settings import read_settings
from antiphon.cli.with_store import notice, print_result, with_store
from antiphon.config import Settings
from antiphon.errors import ConfigError
from antiphon.storage.store import Store


def console(
    url: Annotated[
        str | None,
        typer.Option("--url", metavar="URL", help="URL of the server. Default: from the settings."),
    ] = None,
    no_open: Annotated[bool, typer.Option("--no-open", help="Only print the link.")] = False,
    store: StoreFlag = None,
    config: ConfigFlag = None,
) -> None:
    """Open the console, signed in as an administrator.

    Prints a link and opens it in the browser. The link works once, within a minute.

    Examples:
      antiphon console --no-open
    """
    settings = read_settings(config, store=store)
    if not settings.console:
        raise ConfigError("The console is disabled in the settings. Set `console = true`.")
    if settings.store == "sqlite://":
        raise ConfigError(
            "The store is in memory, so only the server's own process can read a link. "
            "Set `store` to a file."
        )
    server = (url or _address(settings)).rstrip("/").removesuffix("/v1")

    async def act(opened: Store) -> None:
        code = await ConsoleSessions(opened, ids.now).issue_code()
        link = f"{server}/console/#code={code}"
        print_result(link)
        notice(f"The link works once, within {CODE_LASTS} seconds.")
        if not no_open:
            webbrowser.open(link)

    with_store(store, config, act)


def _address(settings: Settings) -> str:
    """Return the URL of the server for a browser on this machine."""
    host = settings.host
    try:
        address = ip_address(host)
    except ValueError:
        return f"http://{host}:{settings.port}"
    if address.is_unspecified or address.is_loopback:
        return f"http://localhost:{settings.port}"
    return f"http://{f'[{host}]' if address.version == 6 else host}:{settings.port}"
