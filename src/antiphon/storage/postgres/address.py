"""Reads the URL of a database, in libpq's form, for the driver: its parameters, and passwords that
are not encoded.
"""

from urllib.parse import parse_qsl, quote, unquote, urlencode

from msgspec import Struct

from antiphon.errors import ConfigError

CONNECT_TIMEOUT = 5.0
"""Seconds, unless the URL has `connect_timeout`."""

POOLERS = {("pooler", "transaction"), ("pgbouncer", "true")}
"""Parameters that declare a pooler in transaction mode in front of the database: Antiphon's own,
and Prisma's.
"""

READ_HERE = frozenset({"pooler", "pgbouncer", "schema", "connect_timeout"})

IGNORED = frozenset(
    [
        "channel_binding",
        "keepalives",
        "keepalives_idle",
        "keepalives_interval",
        "keepalives_count",
        "tcp_user_timeout",
        "gssencmode",
        "gssdelegation",
        "sslcompression",
        "sslcertmode",
        "sslsni",
        "requiressl",
        "requirepeer",
        "require_auth",
        "load_balance_hosts",
        "hostaddr",
        "fallback_application_name",
        "client_encoding",
        "min_protocol_version",
        "max_protocol_version",
        "connection_limit",
        "pool_timeout",
        "pool_max_conns",
        "socket_timeout",
        "statement_cache_size",
    ]
)
"""Parameters of libpq, and of other clients, that the driver does not have. Others are settings of
the database.
"""


class Address(Struct, frozen=True):
    """A URL as the driver understands it."""

    dsn: str
    is_pooled: bool
    """Whether a pooler in transaction mode, without prepared statements, is in front of the
    database.
    """
    connect_timeout: float | None
    """Seconds; None for no limit."""
    ignored: tuple[str, ...]
    """Names of parameters that have no effect."""


def read_address(url: str) -> Address:
    """Return the parts of a URL for the driver. Raises `ConfigError`, which does not quote the URL.

    A password may contain `@`, `/`, `?`, `#` and `:` as they are: the last `@` before the
    parameters ends it.
    """
    scheme, _, rest = url.partition("://")
    whole, _, query = rest.rpartition("?")
    options = parse_qsl(query, keep_blank_values=True)
    is_query = all(name.isidentifier() for name, _ in options) and (
        "@" in whole or "@" not in query
    )
    if not (whole and is_query):
        whole = rest
        options = []
    credentials, at, place = whole.rpartition("@")
    user, colon, password = credentials.partition(":")
    place, slash, database = place.partition("/")
    account = f"{_encoded(user)}{colon}{_encoded(password)}{at}"
    settings = {name: value for name, value in options if name not in READ_HERE | IGNORED and value}
    parameters = dict(options)
    if schema := parameters.get("schema"):
        settings["search_path"] = '"' + schema.replace('"', '""') + '"'
    suffix = f"?{urlencode(settings, quote_via=quote)}" if settings else ""
    return Address(
        f"{scheme}://{account}{place}{slash}{_encoded(database)}{suffix}",
        not POOLERS.isdisjoint(options),
        _seconds(parameters.get("connect_timeout", "")),
        tuple(sorted(IGNORED & parameters.keys())),
    )


def _encoded(text: str) -> str:
    return quote(unquote(text), safe="")


def _seconds(value: str) -> float | None:
    """Return the limit of `connect_timeout`; as in libpq, 0 is none."""
    if not value:
        return CONNECT_TIMEOUT
    if not (value.isascii() and value.removeprefix("-").isdecimal() and len(value) < 10):
        raise ConfigError("store: `connect_timeout` in the URL must be a whole number of seconds.")
    return float(value) if int(value) > 0 else None
