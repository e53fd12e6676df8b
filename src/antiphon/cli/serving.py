"""`antiphon serve` for Typer: its help, and its errors. A command line without mistakes is read by `quick.py`."""

from typing import Annotated

import typer

from antiphon.cli.flags import BackendFlag, ConfigFlag, StoreFlag
from antiphon.cli.serve import serve as serve_until_stopped


def serve(
    host: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Address to listen on. Default: 127.0.0.1.")
    ] = None,
    port: Annotated[int | None, typer.Option(metavar="PORT", help="Port to listen on. Default: 8321.")] = None,
    backend: BackendFlag = None,
    store: StoreFlag = None,
    workers: Annotated[int | None, typer.Option(metavar="N", help="Number of worker processes. Default: 1.")] = None,
    config: ConfigFlag = None,
) -> None:
    """Start the server. It runs until Ctrl-C or SIGTERM."""
    raise typer.Exit(serve_until_stopped(host, port, backend, store, workers, config))
