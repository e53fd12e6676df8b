"""The flags that several commands share, and the settings they make."""

from pathlib import Path
from typing import Annotated, Any

import typer

from antiphon.config import Settings, load_settings

BackendFlag = Annotated[
    list[str] | None,
    typer.Option("--backend", metavar="URL", help="Base URL of a Chat Completions server, ending in /v1. Repeatable."),
]
StoreFlag = Annotated[
    str | None,
    typer.Option(metavar="URL", help="Where state is kept: sqlite:///path or postgresql://user@host/database."),
]
ConfigFlag = Annotated[Path | None, typer.Option(metavar="FILE", help="Settings file; antiphon.toml by default.")]


def read_settings(config: Path | None = None, backend: list[str] | None = None, **flags: Any) -> Settings:
    """Return the settings with these flags. Raises `ConfigError`."""
    return load_settings({"backends": backend or None, **flags}, file=config)
