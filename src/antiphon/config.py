"""Settings: typed, documented, and from four places. A flag outdoes the environment, that the file, that the default.

The file is `antiphon.toml` in the working folder, or the one that `--config` or `ANTIPHON_CONFIG` names.
"""

import os
import re
from collections import Counter
from collections.abc import Mapping
from ipaddress import ip_network
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, get_args, get_origin, get_type_hints
from urllib.parse import urlsplit

import msgspec
from msgspec import Meta, Struct, field

from antiphon.errors import ConfigError, log

DEFAULT_FILE = "antiphon.toml"
PREFIX = "ANTIPHON_"
_HOST = re.compile(r"\*|[A-Za-z0-9._-]+|[0-9A-Fa-f.]*:[0-9A-Fa-f.]*:[0-9A-Fa-f:.]*")
_IN_TABLE = re.compile(r"(backends|mcp_servers)\[(\d+)\]\.?(.*)")
_LABEL = re.compile(r"[A-Za-z0-9_-]{1,64}")
_UNKNOWN = re.compile("Object contains unknown field `(.*)`", re.DOTALL)
_ORIGIN = re.compile(r"\*|null|[a-z][a-z0-9+.-]*://[^/\s?#@A-Z]+")

WEB_SEARCHES = ("searxng", "brave", "tavily")
"""Providers of web search, by their names; a URL is that of a SearXNG instance."""

OTHER_VARIABLES = {"ANTIPHON_CONFIG", "ANTIPHON_RECORDINGS"}
"""Variables that are no settings: the file of settings, and where the tests find recordings."""


class BackendConfig(Struct, kw_only=True, forbid_unknown_fields=True):
    """One backend. Its key is never written here: `key_env` names the environment variable that holds it."""

    url: str
    """Base URL, ending in `/v1` or the like."""
    name: str = ""
    """What to call it; by default its host and port."""
    key_env: str = ""
    """Environment variable with its key; empty where it needs none."""
    dialect: str = ""
    """Family of backends that it belongs to; by default told from its URL and its list of models."""
    api: Literal["auto", "chat", "responses"] = "auto"
    """The API that it is asked by: Chat Completions, or Responses as it serves them itself."""
    models: list[str] | Literal["*"] = field(default_factory=list)
    """Models that it serves, or `*` for whatever is asked for; by default those that it lists."""
    aliases: dict[str, str] = field(default_factory=dict)
    """Names that clients use, each with the model's name at this backend."""
    weight: Annotated[float, Meta(gt=0, le=1000)] = 1.0
    """How much it is asked beside the others that serve the same model."""
    concurrency: Annotated[int, Meta(ge=0, le=1_000_000)] = 0
    """Requests that it is sent at once; 0 for any number."""
    queue: Annotated[int, Meta(ge=0, le=1_000_000)] = 100
    """Requests that may wait for it beyond `concurrency`."""
    cache: bool = False
    """Whether its answers are kept, and given again to who asks the same."""
    connect_timeout: Annotated[float, Meta(gt=0)] | None = None
    """As the setting of this name, for this backend."""
    first_byte_timeout: Annotated[float, Meta(gt=0)] | None = None
    """As the setting of this name, for this backend."""
    idle_timeout: Annotated[float, Meta(gt=0)] | None = None
    """As the setting of this name, for this backend."""
    ca_file: str = ""
    """File with the certificate authorities to trust, in PEM; by default those of the system."""
    client_cert: str = ""
    """File with the certificate that this server shows the backend, in PEM."""
    client_key: str = ""
    """File with the key of `client_cert`, without a password; empty where that file holds it too."""
    proxy: str = ""
    """URL of the proxy to it, or `none`; by default the proxy that the environment names."""


class McpServerConfig(Struct, kw_only=True, forbid_unknown_fields=True):
    """One MCP server: at a URL, or a program of this machine. What is secret stays in the environment."""

    label: str
    """What requests call it by: their `server_label`."""
    url: str = ""
    """Where it is; empty for a program."""
    command: str = ""
    """The program that it is, which speaks over its standard input and output; empty for a URL."""
    args: list[str] = field(default_factory=list)
    """The program's arguments."""
    env: list[str] = field(default_factory=list)
    """Names of environment variables that the program gets, beside the likes of `PATH` and `HOME`."""
    transport: Literal["auto", "http", "sse"] = "auto"
    """How it is asked at its URL: by Streamable HTTP, by the older events beside posts, or by what it knows."""
    key_env: str = ""
    """Environment variable with its key, which is sent as a bearer token; empty where it needs none."""
    connector: str = ""
    """The `connector_id` that it answers for."""
    description: str = ""
    """What it is for, in words for the model."""
    timeout: Annotated[float, Meta(gt=0, le=3600)] | None = None
    """As the setting `mcp_tool_timeout`, for this server."""


class Settings(Struct, kw_only=True, forbid_unknown_fields=True):
    """Every setting of the server. Times are in seconds."""

    host: str = "127.0.0.1"
    """Address to listen on."""
    port: Annotated[int, Meta(ge=0, le=65535)] = 8321
    """Port to listen on; 0 takes a free one."""
    store: str = "sqlite:///~/.local/share/antiphon/antiphon.db"
    """Where state is kept: a file, `postgresql://user@host/database`, or `sqlite://` for memory only."""
    store_connections: Annotated[int, Meta(ge=2, le=1000)] = 10
    """Connections to PostgreSQL that a process opens at most, beside one to listen."""
    workers: Annotated[int, Meta(ge=1, le=256)] = 1
    """Processes that serve the port together."""
    background_jobs: Annotated[int, Meta(ge=0, le=100_000)] = 16
    """Background responses that a process makes at once; 0 leaves them to others."""
    background_jobs_per_tenant: Annotated[int, Meta(ge=1, le=1_000_000)] = 1_000_000
    """Background responses of one tenant that are made at once, by all processes together."""
    grace: Annotated[float, Meta(ge=0, le=3600)] = 30.0
    """How long replies may take to finish after SIGTERM."""
    websocket: bool = True
    """Whether `/v1/responses` takes WebSockets."""
    webhook_private_addresses: bool = False
    """Whether webhooks may be delivered by plain HTTP and to private addresses."""
    outgoing_networks: list[str] = field(default_factory=list)
    """Private networks in which MCP servers and web pages may be, as CIDR."""
    retention_days: Annotated[int, Meta(ge=1, le=36_500)] = 30
    """Days after which a stored response is forgotten."""
    strict_tools: bool = False
    """Whether tools that this server cannot run are refused, instead of left out of what the model sees."""
    strict_seals: bool = False
    """Whether an `encrypted_content` that cannot be opened is refused, instead of left out."""
    seal_keys: list[str] = field(default_factory=list)
    """Keys that seal `encrypted_content`, 32 bytes in base64 each: the first seals, all open."""
    backends: list[BackendConfig] = field(default_factory=list)
    """Chat Completions servers; where none is named, the usual places on this machine are looked at."""
    fallback: dict[str, list[str]] = field(default_factory=dict)
    """Models that may answer in another's place, where nobody can serve that one."""
    cache_ttl: Annotated[int, Meta(ge=1, le=31_536_000)] = 3600
    """How long an answer is kept to be given again, where the request does not say."""
    cache_size: Annotated[int, Meta(ge=1, le=1_048_576)] = 256
    """Megabytes of answers that are kept; beyond, those that were not used for longest are forgotten."""
    cache_embeddings: str = ""
    """Model whose embeddings tell which questions mean the same; empty where they must be the same word for word."""
    cache_similarity: Annotated[float, Meta(gt=0, le=1)] = 0.95
    """Cosine of two such embeddings from which their questions mean the same."""
    tool_rounds: Annotated[int, Meta(ge=1, le=10_000)] = 64
    """Times that a model may ask for tools of this server in one response."""
    tool_time: Annotated[float, Meta(gt=0, le=86_400)] = 1800.0
    """For how long it may."""
    mcp_servers: list[McpServerConfig] = field(default_factory=list)
    """MCP servers that requests may use by their label."""
    mcp_list_ttl: Annotated[float, Meta(ge=0, le=86_400)] = 60.0
    """How long the list of an MCP server's tools is used before it is asked for anew."""
    mcp_tool_timeout: Annotated[float, Meta(gt=0, le=3600)] = 60.0
    """How long the call of an MCP server's tool may take."""
    web_search: str = ""
    """Who searches the web: the URL of a SearXNG instance, `brave` or `tavily`; empty where nobody does."""
    web_search_url: str = ""
    """Where the provider's API is; by default its own."""
    web_search_key_env: str = ""
    """Environment variable with the provider's key; by default `BRAVE_API_KEY` or `TAVILY_API_KEY`."""
    web_search_timeout: Annotated[float, Meta(gt=0, le=600)] = 10.0
    """How long a search may take."""
    web_search_results: Annotated[int, Meta(ge=1, le=20)] = 10
    """Results that the model is told of a search, where the request asks for a medium context and names no number."""
    check_interval: Annotated[float, Meta(ge=0, le=86_400)] = 10.0
    """Seconds between looks whether the backends are there and what they have loaded; 0 never looks."""
    connect_timeout: Annotated[float, Meta(gt=0)] = 2.0
    """How long a connection to a backend may take, with its name looked up and TLS agreed on."""
    first_byte_timeout: Annotated[float, Meta(gt=0)] = 900.0
    """How long a backend may take to its first token."""
    idle_timeout: Annotated[float, Meta(gt=0)] = 120.0
    """How long a backend may be silent between two tokens."""
    max_body: Annotated[int, Meta(ge=1024, le=2**40)] = 32 * 1024 * 1024
    """Bytes that a request's body may have, inflated, or a WebSocket's message."""
    max_bodies: Annotated[int, Meta(ge=1024, le=2**40)] = 512 * 1024 * 1024
    """Bytes that the bodies of all requests may have which a process works on."""
    max_connections: Annotated[int, Meta(ge=1, le=1_000_000)] = 10_000
    """Connections of clients that a process has at most."""
    allowed_hosts: list[str] = field(default_factory=list)
    """Names under which clients may ask, beside this machine's own."""
    allowed_origins: list[str] = field(default_factory=list)
    """Origins whose pages may ask from a browser."""
    metrics: bool = True
    """Whether `/metrics` is served, to this machine alone."""
    trace_endpoint: str = ""
    """Collector of OpenTelemetry traces, such as `http://127.0.0.1:4318`; by default the one that `OTEL_…` names."""
    trace_content: bool = False
    """Whether traces hold what was said."""
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    """What is worth a line in the log, on standard error."""
    log_format: Literal["text", "json"] = "text"
    """Lines for people, or one JSON object each."""
    access_log: bool = False
    """Whether every request has a line in the log."""


_TABLES: dict[str, tuple[type[Struct], str, str]] = {
    "backends": (BackendConfig, "backend", "name"),
    "mcp_servers": (McpServerConfig, "MCP server", "label"),
}
"""What the tables of a setting are, what one is called, and by which of its keys."""


def load_settings(
    flags: Mapping[str, Any], environment: Mapping[str, str] | None = None, file: Path | None = None
) -> Settings:
    """Return the settings. Raises `ConfigError` that names the setting and where it was set.

    `flags` holds what the command line gave, `backends` as base URLs; None stands for a flag that was not given.
    """
    environment = os.environ if environment is None else environment
    path = settings_file(file, environment)
    told = _from_environment(environment)
    given = {name: value for name, value in flags.items() if value is not None}
    values = (_from_file(path) if path else {}) | told | given
    if isinstance(values.get("backends"), list):
        values["backends"] = [{"url": one} if isinstance(one, str) else one for one in values["backends"]]
    try:
        settings = msgspec.convert(values, Settings, strict=False)
    except msgspec.ValidationError as error:
        mistake = _mistake(str(error), values)
        source = _source(mistake.setting, path, told, given)
        raise ConfigError(f"{source}: {mistake.text}") from error
    for backend in settings.backends:
        check_url(backend.url)
    _check_backend_names(settings.backends)
    for backend in settings.backends:
        _check_connection(backend)
    _check_mcp_servers(settings.mcp_servers)
    _check_names(settings)
    _check_web_search(settings)
    return settings


def key_of(backend: BackendConfig, environment: Mapping[str, str] | None = None) -> str:
    """Return a backend's key. Raises `ConfigError` where its variable is not set."""
    if not backend.key_env:
        return ""
    key = clean_key(os.environ if environment is None else environment, backend.key_env)
    if not key:
        raise ConfigError(
            f"The backend {backend.url} takes its key from {backend.key_env}, which is not set. Set it, "
            "or remove `key_env`."
        )
    return key


def clean_key(environment: Mapping[str, str], name: str) -> str:
    """Return the key in a variable, empty where it is not set. Raises `ConfigError` where no header can hold it."""
    key = environment.get(name, "").strip()
    if not (key.isascii() and key.isprintable()):
        raise ConfigError(f"The variable {name} does not hold a key: it has characters that no header can have.")
    return key


def check_url(url: str, whose: str = "backend") -> None:
    """Raise `ConfigError` unless this is a server's base URL, with nothing secret in it: it is shown and logged."""
    try:
        parts = urlsplit(url)
        is_url = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_url = False
    if not is_url:
        raise ConfigError(f"The {whose} '{url}' is not a URL. Give its base URL, such as http://127.0.0.1:11434/v1.")
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise ConfigError(
            f"A {whose}'s URL must not hold a key, a password or a query. Name the variable that holds the key with "
            + ("`key_env` in antiphon.toml." if whose == "backend" else "--key-env.")
        )


def _check_backend_names(backends: list[BackendConfig]) -> None:
    names = Counter(backend.name for backend in backends if backend.name)
    for name, times in names.items():
        if times > 1:
            raise ConfigError(f"{times} backends have the name '{name}'. Give each a name of its own, or none.")


def _check_connection(backend: BackendConfig) -> None:
    """Raise `ConfigError` where the settings of a backend's connections do not go together, or hold a password."""
    if backend.client_key and not backend.client_cert:
        raise ConfigError(f"The backend {backend.url} has a `client_key` without a `client_cert`. Name both.")
    if "@" in backend.proxy:
        raise ConfigError(
            f"The proxy of the backend {backend.url} must not hold a password. Name it in the variable HTTPS_PROXY or "
            "HTTP_PROXY instead."
        )


def _check_mcp_servers(servers: list[McpServerConfig]) -> None:
    for server in servers:
        if not _LABEL.fullmatch(server.label):
            raise ConfigError(f"mcp_servers has the label '{server.label}'. Use letters, digits, '_' and '-'.")
        if bool(server.url) == bool(server.command):
            raise ConfigError(f"The MCP server '{server.label}' needs either a `url` or a `command`.")
        if server.url:
            _check_mcp_url(server)
        elif server.key_env or server.transport != "auto":
            raise ConfigError(
                f"The MCP server '{server.label}' is a program: `key_env` and `transport` are for a `url`. "
                "Pass it its key by `env`."
            )
        if server.url and (server.args or server.env):
            raise ConfigError(f"The MCP server '{server.label}' has a `url`: `args` and `env` are for a `command`.")
    for name, given in (("label", [one.label for one in servers]), ("connector", [one.connector for one in servers])):
        for value, times in Counter(filter(None, given)).items():
            if times > 1:
                raise ConfigError(f"{times} MCP servers have the {name} '{value}'. Give it to one.")


def _check_web_search(settings: Settings) -> None:
    name, place = settings.web_search, settings.web_search_url
    if "://" in name:
        name, place = "searxng", place or name
    if name and name not in WEB_SEARCHES:
        raise ConfigError(
            f"web_search is '{name}', which is no provider. Give brave, tavily, or the URL of a SearXNG instance, such "
            "as http://127.0.0.1:8888."
        )
    if name == "searxng" and not place:
        raise ConfigError("web_search is 'searxng', which is nowhere in particular. Give its URL as web_search_url.")
    if place and (not _is_url(place) or "?" in place):
        raise ConfigError(
            f"The web search's URL '{place}' is not one. Give it without a password and a query, and the key's "
            "variable as web_search_key_env."
        )


def _is_url(text: str) -> bool:
    """Whether this is a server's URL with no secret before the host and nothing behind a `#`."""
    try:
        parts = urlsplit(text)
        is_url = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
    return is_url and "@" not in parts.netloc and not parts.fragment


def _check_mcp_url(server: McpServerConfig) -> None:
    if not _is_url(server.url):
        raise ConfigError(
            f"The `url` of the MCP server '{server.label}' is not one. Give it as https://example.com/mcp, and its key "
            "by `key_env`."
        )


def _check_names(settings: Settings) -> None:
    for host in settings.allowed_hosts:
        if not _HOST.fullmatch(host):
            raise ConfigError(f"allowed_hosts has '{host}', which is no name. Give it without scheme, port and path.")
    for origin in settings.allowed_origins:
        if not _ORIGIN.fullmatch(origin):
            raise ConfigError(f"allowed_origins has '{origin}', which is none. Write it as https://app.example.com.")
    for network in settings.outgoing_networks:
        _check_network(network)


def _check_network(network: str) -> None:
    try:
        ip_network(network)
    except ValueError as error:
        raise ConfigError(
            f"outgoing_networks has '{network}', which is no network. Write it as 10.1.0.0/16, without bits beyond "
            "its length, or as a single address."
        ) from error


def settings_file(file: Path | None = None, environment: Mapping[str, str] | None = None) -> Path | None:
    """Return the file of settings: `file`, else what the variable names, else the usual one where there is one."""
    environment = os.environ if environment is None else environment
    if file or environment.get(PREFIX + "CONFIG"):
        return file or Path(environment[PREFIX + "CONFIG"])
    usual = Path(DEFAULT_FILE)
    return usual if usual.exists() else None


def _from_file(path: Path) -> dict[str, Any]:
    import tomllib  # noqa: PLC0415 - many servers have no file

    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"The file {path} cannot be read: {error.strerror}.") from error
    except ValueError as error:
        raise ConfigError(f"The file {path} is not valid TOML: {error}.") from error


def _from_environment(environment: Mapping[str, str]) -> dict[str, Any]:
    known = {PREFIX + name.upper(): name for name in Settings.__struct_fields__}
    values: dict[str, Any] = {known[name]: value for name, value in environment.items() if name in known and value}
    for name in environment:
        if name.startswith(PREFIX) and name not in known.keys() | OTHER_VARIABLES:
            log.warning("The variable %s is no setting and changes nothing.", name)
    for name in ("backends", "seal_keys", "allowed_hosts", "allowed_origins", "outgoing_networks"):
        if name in values:
            values[name] = values[name].replace(",", " ").split()
    if "mcp_servers" in values:
        pairs = (pair.partition("=") for pair in values["mcp_servers"].split())
        values["mcp_servers"] = [{"label": label, "url": url} for label, _, url in pairs]
    if "fallback" in values:
        values["fallback"] = _chains(values["fallback"])
    return values


def _chains(text: str) -> dict[str, list[str]]:
    """Return what `a=b,c d=e` says: the models that may answer in another's place."""
    pairs = (pair.partition("=") for pair in text.split())
    return {name: [other for other in others.split(",") if other] for name, _, others in pairs}


class _Mistake(NamedTuple):
    setting: str
    """Name of the setting, empty where there is no such setting."""
    text: str


def _mistake(said: str, values: dict[str, Any]) -> _Mistake:
    """Return what msgspec says of these values, with what would be right where that is known."""
    what, _, place = said.partition(" - at `$.")
    place = place.removesuffix("`")
    setting = re.split(r"[.\[]", place)[0]
    kind: type[Struct] = Settings
    whose = ""
    if in_table := _IN_TABLE.fullmatch(place):
        tables, number, place = in_table[1], int(in_table[2]), in_table[3]
        kind, what_it_is, key = _TABLES[tables]
        whose = _named(number, values[tables][number], what_it_is, key)
    at = f" at `{place}`" if place else ""
    return _Mistake(setting, f"{whose}{what}{at}.{_advice(what, place, kind)}")


def _named(number: int, table: object, what: str, key: str) -> str:
    name = table.get(key) if isinstance(table, dict) else None
    return f"{what} {number + 1} ('{name}'): " if name else f"{what} {number + 1}: "


def _advice(what: str, place: str, kind: type[Struct]) -> str:
    if unknown := _UNKNOWN.fullmatch(what):
        from difflib import get_close_matches  # noqa: PLC0415 - for mistakes alone

        near = get_close_matches(unknown[1], kind.__struct_fields__, 1)
        return f" Did you mean `{near[0]}`?" if near else ""
    wanted = get_type_hints(kind).get(place)
    return f" Allowed: {', '.join(get_args(wanted))}." if get_origin(wanted) is Literal else ""


def _source(setting: str, file: Path | None, told: Mapping[str, Any], given: Mapping[str, Any]) -> str:
    if setting in given:
        return "A flag is wrong"
    return f"The variable {PREFIX}{setting.upper()} is wrong" if setting in told else f"The file {file} is wrong"
