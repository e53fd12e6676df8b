"""The settings that the flags of a command make."""

from pathlib import Path
from typing import Any

from antiphon.config import Settings, load_settings


def read_settings(config: Path | None = None, backend: list[str] | None = None, **flags: Any) -> Settings:
    """Return the settings with these flags. Raises `ConfigError`."""
    return load_settings({"backends": backend or None, **flags}, file=config)
