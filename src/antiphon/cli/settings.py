"""The settings that the flags of a command make."""

from pathlib import Path
from typing import Any

from antiphon.config import Settings, listen_address, load_settings


def read_settings(config: Path | None = None, backend: list[str] | None = None, **flags: Any) -> Settings:
    """Return the settings with these flags. Raises `ConfigError`."""
    return load_settings({"backends": backend or None, **flags}, file=config)


def address(settings: Settings) -> str:
    """Return the address of the server of these settings, without `/v1`, as a client of this machine reaches it."""
    return f"http://{reachable(settings.host)}:{settings.port}"


def watch_address(settings: Settings) -> str:
    """Return the address at which a program of this machine reads the server's status, without a path."""
    if not settings.metrics_listen:
        return address(settings)
    host, port = listen_address(settings.metrics_listen)
    return f"http://{reachable(host)}:{port}"


def reachable(host: str) -> str:
    """Return the host of a URL by which a client of this machine reaches a server that listens there."""
    name = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 - read, not bound
    return f"[{name}]" if ":" in name else name
