"""`antiphon serve` for Typer: its help and its errors. `quick.py` reads command lines without
mistakes.
"""

from typing import Annotated

import typer

from antiphon.cli.flags import BackendFlag, ConfigFlag, StoreFlag
from antiphon.cli.serve import serve as serve_until_stopped


def serve(
    host: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", help="Address to listen on. Default: 127.0.0.1."),
    ] = None,
    port: Annotated[
        int | None, typer.Option(metavar="PORT", help="Port to listen on. Default: 8321.")
    ] = None,
    backend: BackendFlag = None,
    store: StoreFlag = None,
    workers: Annotated[
        int | None, typer.Option(metavar="N", help="Number of processes. Default: 1.")
    ] = None,
    agents: Annotated[
        str | None,
        typer.Option(
            metavar="MODULE",
            help="The module of your agents, or MODULE:NAME, for a worker next to the server.",
        ),
    ] = None,
    config: ConfigFlag = None,
) -> None:
    """Start the server.

    It serves the Responses API until it receives SIGTERM or Ctrl-C. Without a backend in the
    settings, it uses the model servers that it finds on this machine, or else the scripted model
    `demo`.

    Examples:
      antiphon serve
      antiphon serve --backend http://127.0.0.1:11434/v1
      antiphon serve --workers 4 --store postgresql://antiphon@db/antiphon
      antiphon serve --agents app:agents
    """
    raise typer.Exit(serve_until_stopped(host, port, backend, store, workers, agents, config))
