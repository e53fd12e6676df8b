"""Checks of settings beyond their types, and the keys that settings refer to."""

import os
import re
from collections import Counter
from collections.abc import Mapping
from ipaddress import ip_network
from urllib.parse import SplitResult, urlsplit

from antiphon.config.settings import BackendConfig, McpServerConfig, Settings
from antiphon.errors import ConfigError, redacted

WEB_SEARCHES = ("searxng", "brave", "tavily")
"""Names of the web search providers; a URL as provider is that of a SearXNG instance."""

MOST_PORT = 65_535

KEY_SETTINGS = {
    "backend": "`key_env` in antiphon.toml",
    "images server": "`images_key_env` in antiphon.toml",
}
"""The setting that names the variable with the key of a server; the others have a flag."""

_HOST = re.compile(r"\*|[A-Za-z0-9._-]+|[0-9A-Fa-f.]*:[0-9A-Fa-f.]*:[0-9A-Fa-f:.]*")
_BUCKET = re.compile(r"s3://[A-Za-z0-9][A-Za-z0-9._-]{1,254}(/[A-Za-z0-9._/-]*)?")
_LABEL = re.compile(r"[A-Za-z0-9_-]{1,64}")
_ORIGIN = re.compile(r"\*|null|[a-z][a-z0-9+.-]*://[^/\s?#@A-Z]+")


def check(settings: Settings) -> None:
    """Raise `ConfigError` for settings that contradict each other, and for values that no server
    can use.
    """
    for backend in settings.backends:
        check_url(backend.url)
    _check_backend_names(settings.backends)
    for backend in settings.backends:
        _check_connection(backend)
    _check_mcp_servers(settings.mcp_servers)
    _check_names(settings)
    _check_web_search(settings)
    _check_file_storage(settings)
    _check_code(settings)
    if settings.images_backend:
        check_url(settings.images_backend, "images server")
    if settings.metrics_listen:
        listen_address(settings.metrics_listen)
    if settings.trace_endpoint:
        check_collector(settings.trace_endpoint, "trace_endpoint")


def key_of(backend: BackendConfig, environment: Mapping[str, str] | None = None) -> str:
    """Return the key of a backend. Raises `ConfigError` if its variable is not set."""
    if not backend.key_env:
        return ""
    key = clean_key(os.environ if environment is None else environment, backend.key_env)
    if not key:
        raise ConfigError(
            f"The backend {backend.url} needs a key from the variable {backend.key_env}, "
            "which is not set. Set the variable, or remove `key_env`."
        )
    return key


def clean_key(environment: Mapping[str, str], name: str) -> str:
    """Return the key in a variable, empty if it is not set.

    Raises `ConfigError` for characters that no header has.
    """
    key = environment.get(name, "").strip()
    if not (key.isascii() and key.isprintable()):
        raise ConfigError(
            f"The variable {name} is not a valid key: it contains characters that are not allowed "
            "in an HTTP header. "
            "Use printable ASCII characters only."
        )
    return key


def metrics_key(settings: Settings, environment: Mapping[str, str] | None = None) -> str:
    """Return the key for the metrics, empty for none.

    Raises `ConfigError` if its variable is not set.
    """
    name = settings.metrics_key_env
    key = clean_key(os.environ if environment is None else environment, name) if name else ""
    if name and not key:
        raise ConfigError(
            f"metrics_key_env names the variable {name}, which is not set. Set the variable, or "
            "remove the setting."
        )
    return key


def listen_address(text: str) -> tuple[str, int]:
    """Return the host and the port of an address to listen on. Raises `ConfigError`."""
    host, separator, port = text.rpartition(":")
    host = (
        host.removeprefix("[").removesuffix("]")
        if host.startswith("[") and host.endswith("]")
        else host
    )
    is_one = (
        bool(separator and _HOST.fullmatch(host))
        and host != "*"
        and port.isascii()
        and port.isdecimal()
    )
    if not is_one or int(port) > MOST_PORT:
        raise ConfigError(
            f"metrics_listen is '{text}', which is not an address with a port. "
            "Write it as 127.0.0.1:9321 or [::1]:9321."
        )
    return host, int(port)


def check_url(url: str, server: str = "backend") -> None:
    """Raise `ConfigError` unless this is the base URL of a server without credentials: it is
    displayed and logged.
    """
    parts = _parts(url)
    if parts is None:
        scheme, separator, _ = url.partition("://")
        is_other = bool(separator) and scheme.lower() not in {"http", "https"}
        flaw = (
            f"has the scheme '{scheme}', and only http and https are supported"
            if is_other
            else "is not a URL"
        )
        raise ConfigError(
            f"The {server} '{redacted(url)}' {flaw}. Set its base URL, such as "
            "http://127.0.0.1:11434/v1."
        )
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise ConfigError(
            f"The URL of the {server} must not contain a key, a password or a query. "
            f"Name the variable that holds the key with {KEY_SETTINGS.get(server, '--key-env')}."
        )


def check_collector(url: str, name: str) -> None:
    """Raise `ConfigError` unless this is the URL of a collector of traces; `name` is its setting or
    variable.

    It can have user information, which the exporter sends as a header.
    """
    parts = _parts(url)
    if parts is None or parts.query or parts.fragment:
        raise ConfigError(
            f"{name} is '{redacted(url)}', which is not the URL of a collector. "
            "Write it as http://127.0.0.1:4318, and put keys in OTEL_EXPORTER_OTLP_HEADERS."
        )


def _check_backend_names(backends: list[BackendConfig]) -> None:
    names = Counter(backend.name for backend in backends if backend.name)
    for name, times in names.items():
        if times > 1:
            raise ConfigError(
                f"{times} backends have the name '{name}'. Give each a unique name, or no name."
            )


def _check_connection(backend: BackendConfig) -> None:
    """Raise `ConfigError` if the connection settings of a backend contradict each other or contain
    a password.
    """
    if backend.client_key and not backend.client_cert:
        raise ConfigError(
            f"The backend {backend.url} has a `client_key` without a `client_cert`. Set both."
        )
    if "@" in backend.proxy:
        raise ConfigError(
            f"The proxy URL of the backend {backend.url} must not contain a password. "
            "Set the proxy in the variable HTTPS_PROXY or HTTP_PROXY instead."
        )


def _check_mcp_servers(servers: list[McpServerConfig]) -> None:
    for server in servers:
        if not _LABEL.fullmatch(server.label):
            raise ConfigError(
                f"mcp_servers has the label '{server.label}', which is not valid. "
                "Use 1 to 64 letters, digits, '_' and '-'."
            )
        if bool(server.url) == bool(server.command):
            raise ConfigError(
                f"The MCP server '{server.label}' needs either a `url` or a `command`."
            )
        if server.url:
            _check_mcp_url(server)
        elif server.key_env or server.transport != "auto":
            raise ConfigError(
                f"The MCP server '{server.label}' is a program, and `key_env` and `transport` "
                "apply to a `url` only. "
                "Pass the key to the program with `env`."
            )
        if server.url and (server.args or server.env):
            raise ConfigError(
                f"The MCP server '{server.label}' has a `url`, and `args` and `env` apply "
                "to a `command` only. Remove them."
            )
    for name, provided in (
        ("label", [one.label for one in servers]),
        ("connector", [one.connector for one in servers]),
    ):
        for value, times in Counter(filter(None, provided)).items():
            if times > 1:
                raise ConfigError(
                    f"{times} MCP servers have the {name} '{value}'. Use each {name} once."
                )


def _check_web_search(settings: Settings) -> None:
    name = settings.web_search
    place = settings.web_search_url
    if "://" in name:
        name, place = "searxng", place or name
    if name and name not in WEB_SEARCHES:
        raise ConfigError(
            f"web_search is '{redacted(name)}', which is not a provider. Set it to brave, tavily, "
            "or the URL of a SearXNG instance, such as http://127.0.0.1:8888."
        )
    if name == "searxng" and not place:
        raise ConfigError(
            "web_search is 'searxng' without a URL. Set web_search_url to the URL of the instance."
        )
    if place and (not _is_url(place) or "?" in place):
        raise ConfigError(
            f"The URL of the web search '{redacted(place)}' is not valid. Use a URL without a "
            "password and a query, and name the variable that holds the key in web_search_key_env."
        )


def _check_file_storage(settings: Settings) -> None:
    place = settings.file_storage
    endpoint = settings.file_storage_endpoint
    is_bucket = place.startswith("s3://")
    if is_bucket and not _BUCKET.fullmatch(place):
        raise ConfigError(
            f"file_storage is '{redacted(place)}', which is not a bucket. "
            "Write s3://bucket or s3://bucket/prefix, and set the credentials in AWS_ACCESS_KEY_ID "
            "and AWS_SECRET_ACCESS_KEY."
        )
    if place and not is_bucket and not place.startswith(("/", "~/")):
        raise ConfigError(
            f"file_storage is '{redacted(place)}', which is neither the absolute path of a "
            "directory nor a bucket. "
            "Write /path/to/directory or s3://bucket/prefix."
        )
    if endpoint and (not _is_url(endpoint) or "?" in endpoint):
        raise ConfigError(
            f"file_storage_endpoint '{redacted(endpoint)}' is not valid. "
            "Set the service's URL without a key, such as http://127.0.0.1:9000."
        )


def _check_code(settings: Settings) -> None:
    """Raise `ConfigError` if the settings of the code sandbox contradict each other."""
    if settings.code_python and not settings.code_python.startswith(("/", "~/")):
        raise ConfigError(
            f"code_python is '{redacted(settings.code_python)}', which is not an absolute path. "
            "Set it to the path of the Python of a virtual environment, "
            "such as /opt/code/bin/python."
        )
    place = settings.code_e2b_url
    if settings.code_sandbox == "e2b" and not place:
        raise ConfigError(
            "code_sandbox is 'e2b' without a URL. Set code_e2b_url to the base URL "
            "of the service's API, such as https://api.e2b.app."
        )
    if place and (not _is_url(place) or "?" in place):
        raise ConfigError(
            f"code_e2b_url '{redacted(place)}' is not valid. Set it to the service's base URL "
            "without a key, and name the variable that holds the key in code_e2b_key_env."
        )


def _is_url(text: str) -> bool:
    """Return whether this is the URL of a server, without credentials before the host and without a
    fragment.
    """
    parts = _parts(text)
    return parts is not None and "@" not in parts.netloc and not parts.fragment


def _parts(url: str) -> SplitResult | None:
    """Return the parts of the URL of a server; None if it is not valid.

    `urlsplit` drops tabs and line ends.
    """
    try:
        parts = urlsplit(url)
        is_url = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return None
    return parts if is_url and url.isprintable() and " " not in url else None


def _check_mcp_url(server: McpServerConfig) -> None:
    if not _is_url(server.url):
        raise ConfigError(
            f"The `url` of the MCP server '{server.label}' is not valid. "
            "Write it as https://example.com/mcp without credentials, and name the variable that "
            "holds the key in `key_env`."
        )


def _check_names(settings: Settings) -> None:
    for host in settings.allowed_hosts:
        if not _HOST.fullmatch(host):
            raise ConfigError(
                f"allowed_hosts has '{host}', which is not a host name. Write it without a scheme, "
                "port and path."
            )
    for origin in settings.allowed_origins:
        if not _ORIGIN.fullmatch(origin):
            raise ConfigError(
                f"allowed_origins has '{origin}', which is not an origin. Write it as "
                "https://app.example.com."
            )
    for name in ("outgoing_networks", "metrics_networks"):
        for network in getattr(settings, name):
            _check_network(name, network)


def _check_network(name: str, network: str) -> None:
    try:
        ip_network(network)
    except ValueError as error:
        raise ConfigError(
            f"{name} has '{network}', which is not a network. Write it as 10.1.0.0/16, "
            "with zeros after the prefix, or as a single address."
        ) from error
