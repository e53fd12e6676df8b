"""The server of a request, and the data that can be sent to it: servers of the settings by label,
others by URL.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from os import urandom
from typing import Protocol

import msgspec

from antiphon.errors import ClientError, ConfigError
from antiphon.outbound.ssrf import ANYWHERE, Reach, is_address, read_url
from antiphon.protocol.tools import McpTool
from antiphon.tools.mcp.result import secrets_of

_HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,256}")
_VALUE = re.compile(r"[\x20-\x7e\t]{0,8192}")
_OURS = frozenset(
    {
        *(
            "host",
            "connection",
            "keep-alive",
            "upgrade",
            "te",
            "trailer",
            "expect",
            "cookie",
            "accept",
            "accept-encoding",
        ),
        *("content-length", "content-type", "content-encoding", "transfer-encoding"),
        *("mcp-session-id", "mcp-protocol-version", "mcp-method", "mcp-name", "last-event-id"),
    }
)
"""Headers that define the framing of a request, or its session: this server sets them."""

_SALT = urandom(16)
"""Digests of credentials are valid in this process only."""


class Configured(Protocol):
    """A server of the settings, as the file describes it; see `antiphon.config.McpServerConfig`."""

    @property
    def label(self) -> str: ...
    @property
    def url(self) -> str: ...
    @property
    def command(self) -> str: ...
    @property
    def args(self) -> Sequence[str]: ...
    @property
    def env(self) -> Sequence[str]: ...
    @property
    def transport(self) -> str: ...
    @property
    def key_env(self) -> str: ...
    @property
    def connector(self) -> str: ...
    @property
    def description(self) -> str: ...
    @property
    def timeout(self) -> float | None: ...


@dataclass(frozen=True, slots=True)
class McpTarget:
    """A server to call, with its headers and variables."""

    label: str
    url: str = field(default="", repr=False)
    """Empty for a command; a URL can contain secrets."""
    command: tuple[str, ...] = ()
    """A program of the settings and its arguments."""
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Variables that the program receives in addition to the harmless ones."""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Sent to the origin of the URL only."""
    transport: str = "auto"
    """`auto`, `http` (Streamable HTTP), `sse` or `stdio`."""
    reach: Reach = field(default_factory=Reach, repr=False)
    """The addresses that its name can resolve to."""
    is_ours: bool = False
    """Whether the settings name it: a request with the same URL does not share a session without an
    address check.
    """
    has_request_headers: bool = False
    """Whether a request adds headers: its failures do not count against the server."""
    timeout: float | None = None

    @property
    def secrets(self) -> tuple[str, ...]:
        """The credentials that it receives."""
        return secrets_of(self.headers, self.environment)

    @property
    def key(self) -> str:
        """The server and its credentials as a digest: servers with one key can share a session."""
        parts = (
            self.label if self.is_ours else "",
            self.url,
            self.transport,
            sorted(self.headers.items()),
        )
        return blake2b(msgspec.json.encode(parts), digest_size=16, key=_SALT).hexdigest()


class Targets:
    """The servers that requests can use.

    Raises `ConfigError` if a setting names a missing variable.
    """

    def __init__(
        self, configured: Iterable[Configured], reach: Reach, environment: Mapping[str, str]
    ) -> None:
        self._reach = reach
        # Servers of the settings can have any address: the operator chose them.
        anywhere = replace(reach, networks=ANYWHERE)
        self._labelled = {one.label: _configured(one, environment, anywhere) for one in configured}
        self._connectors = {
            one.connector: self._labelled[one.label] for one in configured if one.connector
        }
        self.descriptions = {one.label: one.description for one in configured if one.description}

    def find(self, tool: McpTool) -> McpTarget:
        """Return the server for a request's tool. Raises `ClientError` (400) with the remedy."""
        if tool.tunnel_id:
            raise _refused(
                "Tunnels of OpenAI ('tunnel_id') are not supported. "
                "Set the server's 'server_url' instead."
            )
        if tool.server_url and tool.connector_id:
            raise _refused("Set either 'server_url' or 'connector_id' for an MCP server, not both.")
        if tool.connector_id:
            return self._credentials_for(self._of_connector(tool.connector_id), tool)
        configured = self._labelled.get(tool.server_label)
        if configured is None:
            return self._credentials_for(self._named(tool), tool)
        if tool.server_url:
            raise _refused(
                f"'{tool.server_label}' is the label of a server in this server's settings. "
                "Omit 'server_url' to use that one, or set another 'server_label'."
            )
        return self._credentials_for(configured, tool)

    def _of_connector(self, connector: str) -> McpTarget:
        if connector not in self._connectors:
            raise _refused(
                f"No server is configured for the connector '{connector}'. "
                "The operator can set it as 'connector' in 'mcp_servers'; or set a 'server_url'."
            )
        return self._connectors[connector]

    def _named(self, tool: McpTool) -> McpTarget:
        if not tool.server_url:
            raise _refused(
                f"No MCP server '{tool.server_label}' is configured. Set its 'server_url', "
                "or use the label of one of 'mcp_servers' in this server's settings."
            )
        if tool.server_url.startswith("agent:"):
            raise _refused(
                f"The 'server_url' of '{tool.server_label}' names an agent. Only a request for "
                "this agent declares it, as its 'model'."
            )
        try:
            url = read_url(tool.server_url)
        except ValueError as error:
            why = error if "://" in tool.server_url else "begin it with https://"
            raise _refused(
                f"The 'server_url' of '{tool.server_label}' is invalid: {why}."
            ) from error
        host = url.raw_host or ""
        if is_address(host) and not self._reach.admits(host):
            raise _refused(
                f"The 'server_url' of '{tool.server_label}' is a private address, "
                f"which the setting '{self._reach.setting}' does not permit."
            )
        if url.scheme == "http" and is_address(host) and not self._reach.lists(host):
            raise _refused(f"The 'server_url' of '{tool.server_label}' must begin with https://.")
        return McpTarget(tool.server_label, str(url), reach=self._reach)

    def _credentials_for(self, target: McpTarget, tool: McpTool) -> McpTarget:
        """Return a server with the headers of a request, which override those of the settings."""
        shared = {name.lower(): value for name, value in (tool.headers or {}).items()}
        if tool.authorization:
            if "authorization" in shared:
                raise _refused("Set 'authorization' or a header with that name, not both.")
            token = tool.authorization
            shared["authorization"] = (
                token if token.lower().startswith("bearer ") else f"Bearer {token}"
            )
        if shared and target.command:
            raise _refused(
                f"'{target.label}' is a program in this server's settings: "
                "it does not accept headers."
            )
        for name, value in shared.items():
            if name in _OURS or not _HEADER.fullmatch(name) or not _VALUE.fullmatch(value):
                displayed = name if _HEADER.fullmatch(name) else "…"
                raise _refused(
                    f"The header '{displayed}' of '{tool.server_label}' cannot be sent "
                    "to an MCP server."
                )
        return (
            replace(target, headers={**target.headers, **shared}, has_request_headers=True)
            if shared
            else target
        )


def _refused(message: str) -> ClientError:
    return ClientError(message, code="invalid_value", param="tools")


def _configured(one: Configured, environment: Mapping[str, str], reach: Reach) -> McpTarget:
    """Return a server of the settings. Raises `ConfigError`."""
    key = _variable(environment, one.key_env, one.label) if one.key_env else ""
    if not (key.isascii() and key.isprintable()):
        raise ConfigError(
            f"The variable {one.key_env} is not a valid key: it has invalid characters."
        )
    return McpTarget(
        one.label,
        one.url,
        (one.command, *one.args) if one.command else (),
        {name: _variable(environment, name, one.label) for name in one.env},
        {"authorization": f"Bearer {key}"} if key else {},
        "stdio" if one.command else one.transport,
        reach,
        is_ours=True,
        timeout=one.timeout,
    )


def _variable(environment: Mapping[str, str], name: str, label: str) -> str:
    value = environment.get(name, "").strip()
    if not value:
        raise ConfigError(
            f"The MCP server '{label}' needs the variable {name}, which is not set. Set it."
        )
    return value
