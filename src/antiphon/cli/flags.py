"""Flags that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

BackendFlag = Annotated[
    list[str] | None,
    typer.Option(
        "--backend",
        metavar="URL",
        help="Base URL of a model server, ending in /v1. Can be repeated.",
    ),
]
StoreFlag = Annotated[
    str | None,
    typer.Option(
        metavar="URL",
        help="Database that stores state: sqlite:///path or postgresql://user@host/database.",
    ),
]
ConfigFlag = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Settings file. Default: antiphon.toml.")
]
TenantFlag = Annotated[
    str,
    typer.Option(
        "--tenant",
        metavar="NAME",
        help="Tenant. Default: the tenant of requests without an API key.",
    ),
]
"""The owner of files and vector stores."""
