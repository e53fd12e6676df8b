"""The settings of a command, and the addresses of its server."""

from pathlib import Path
from typing import Any

from antiphon.config import Settings, listen_address, load_settings


def read_settings(
    config: Path | None = None, backend: list[str] | None = None, **flags: Any
) -> Settings:
    """Return the settings with these flags. Raises `ConfigError`."""
    return load_settings({"backends": backend or None, **flags}, file=config)


def address(settings: Settings) -> str:
    """Return the URL of the server with these settings, without `/v1`, for a client on this
    machine.
    """
    return f"http://{reachable(settings.host)}:{settings.port}"


def watch_address(settings: Settings) -> str:
    """Return the URL of the server's status, without a path, for a program on this machine."""
    if not settings.metrics_listen:
        return address(settings)
    host, port = listen_address(settings.metrics_listen)
    return f"http://{reachable(host)}:{port}"


def reachable(host: str) -> str:
    """Return the host in the URL of a server that listens on this address, for a client on this
    machine.
    """
    name = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 - read, not bound
    return f"[{name}]" if ":" in name else name
