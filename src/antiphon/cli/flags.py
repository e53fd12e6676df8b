"""The flags that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

BackendFlag = Annotated[
    list[str] | None,
    typer.Option("--backend", metavar="URL", help="Base URL of a Chat Completions server, ending in /v1. Repeatable."),
]
StoreFlag = Annotated[
    str | None,
    typer.Option(metavar="URL", help="Where state is kept: sqlite:///path or postgresql://user@host/database."),
]
ConfigFlag = Annotated[Path | None, typer.Option(metavar="FILE", help="Settings file; antiphon.toml by default.")]
