"""The extras of the package: the modules that each one installs, and the error if they are
missing.
"""

from collections.abc import Mapping
from functools import cache

from antiphon.errors import ClientError, ConfigError, log
from antiphon.packages import is_there, require_module

EXTRAS: Mapping[str, tuple[str, ...]] = {
    "correct": ("json_repair", "jsonschema_rs"),
    "demo-backend": ("aiohttp",),
    "files": ("aiohttp", "html_to_markdown", "pypdfium2"),
    "grammar": ("llguidance",),
    "mcp": ("mcp", "mcp_types", "httpx2", "yarl"),  # version 1 of the SDK has no mcp_types
    "otel": ("opentelemetry.sdk", "opentelemetry.exporter.otlp.proto.http"),
    "postgres": ("asyncpg",),
    "s3": ("obstore",),
    "speed": ("uvloop",),
    "tokens": ("tiktoken",),
    "web": ("aiohttp", "html_to_markdown"),
    "webhooks": ("aiohttp",),
}
"""An extra of pyproject.toml -> the modules that it needs. They are loaded on first use."""

FRAMEWORKS: Mapping[str, tuple[str, ...]] = {
    "langgraph": ("langgraph", "langchain_core"),
    "openai-agents": ("agents",),
    "pydantic-ai": ("pydantic_ai", "openai"),
}
"""The extras for agents of other frameworks -> their modules. The extra `all` has none of them:
agents of a framework are written by programs that have it.
"""

USERS: Mapping[str, tuple[str, ...]] = {
    "correct": EXTRAS["correct"],
    "demo-backend": ("antiphon.cli.demo_backend",),
    "files": ("antiphon.outbound.fetch", "antiphon.documents.extraction.hypertext", "pypdfium2"),
    "grammar": EXTRAS["grammar"],
    "mcp": ("antiphon.tools.mcp.session",),
    "otel": ("antiphon.telemetry.otel.collector",),
    "postgres": ("antiphon.storage.postgres.store",),
    "s3": ("antiphon.storage.blobs.bucket",),
    "speed": EXTRAS["speed"],
    "tokens": EXTRAS["tokens"],
    "web": (
        "antiphon.outbound.fetch",
        "antiphon.tools.web.tool",
        "antiphon.documents.extraction.page",
    ),
    "webhooks": ("antiphon.outbound.client",),
}
"""An extra -> the modules that import its packages, on first use: if they can be loaded, the names
in them exist.
"""

_logged: set[str] = set()
"""The extras that requests needed and that are already logged."""


@cache
def is_installed(extra: str) -> bool:
    """Whether the modules of an extra are installed. None of them is loaded."""
    return all(is_there(module) for module in EXTRAS.get(extra) or FRAMEWORKS[extra])


def command(extra: str) -> str:
    """Return the command that installs an extra."""
    return f"pip install 'antiphon[{extra}]'"


def require(extra: str, what: str) -> None:
    """Load an extra. Raises `ConfigError` if it is not installed, or cannot be loaded.

    `what` is the setting or command that needs it.
    """
    if not is_installed(extra):
        raise ConfigError(
            f"{what} needs packages that are not installed. Install them: {command(extra)}."
        )
    for module in USERS.get(extra) or FRAMEWORKS[extra]:
        require_module(module, what)


def missing(extra: str, what: str, param: str | None = None) -> ClientError | None:
    """Return the error (400) of a request that needs an extra, None if the extra is installed.

    `what` names the API's feature in the plural. The log has the command that installs the extra,
    once.
    """
    if is_installed(extra):
        return None
    if extra not in _logged:
        _logged.add(extra)
        log.warning(
            "Rejected a request: %s need packages that are not installed. Run: %s",
            what,
            command(extra),
        )
    return ClientError(
        f"{what} are not available on this server.", code="unsupported_value", param=param
    )
