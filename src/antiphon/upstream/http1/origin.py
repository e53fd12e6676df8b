"""The server and the proxy of a URL, and the head of a request to it. No I/O."""

import re
from base64 import b64encode
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from ipaddress import ip_address, ip_network
from urllib.parse import quote, unquote, urlsplit

DEFAULT_PORTS = {"http": 80, "https": 443}

DIRECT = "none"
"""The setting for no proxy at all."""

_PATH = "/:@!$&'()*+,;=-._~%?"
"""Characters that are not escaped in a request's target, besides letters and digits."""

_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_TARGET = re.compile(r"[\x21-\x7e]+")
_VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]*")


@dataclass(frozen=True, slots=True)
class Origin:
    """A server: its scheme, its name or address, its port."""

    scheme: str
    host: str
    port: int

    @property
    def is_tls(self) -> bool:
        return self.scheme == "https"

    @property
    def authority(self) -> str:
        """Host and port as in a URL."""
        return f"{self._bracketed}:{self.port}"

    @property
    def host_field(self) -> str:
        """The value of `host`: without the scheme's default port."""
        return self._bracketed if self.port == DEFAULT_PORTS[self.scheme] else self.authority

    @property
    def _bracketed(self) -> str:
        return f"[{self.host}]" if ":" in self.host else self.host


@dataclass(frozen=True, slots=True)
class Proxy:
    """A proxy, and the credentials that it requires."""

    origin: Origin
    authorization: str = ""

    @property
    def fields(self) -> list[tuple[str, str]]:
        """The header fields for the proxy."""
        return [("proxy-authorization", self.authorization)] if self.authorization else []


def origin_of(url: str) -> Origin:
    """Return the server of an `http` or `https` URL. Raises `ValueError` for any other."""
    parts = urlsplit(url)
    if parts.scheme not in DEFAULT_PORTS or not parts.hostname:
        raise ValueError("it is not an http or https URL")
    host = parts.hostname
    if not host.isascii():
        host = host.encode("idna").decode()
    return Origin(parts.scheme, host, parts.port or DEFAULT_PORTS[parts.scheme])


def target_of(url: str, path: str) -> str:
    """Return the path of a request: `path` below that of a base URL, where `/..` is the parent."""
    below: list[str] = []
    for segment in (urlsplit(url).path.rstrip("/") + path).split("/")[1:]:
        if segment == "..":
            del below[-1:]
        elif segment != ".":
            below.append(segment)
    return "/" + quote("/".join(below), safe=_PATH)


def proxy_of(url: str) -> Proxy:
    """Return the proxy at a URL, which can contain a name and a password.

    Raises `ValueError` unless it is `http`.
    """
    parts = urlsplit(url if "://" in url else f"http://{url}")
    if parts.scheme != "http":
        raise ValueError("only http proxies are supported")
    authorization = ""
    if parts.username is not None:
        login = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        authorization = f"Basic {b64encode(login.encode()).decode()}"
    return Proxy(origin_of(parts.geturl()), authorization)


def proxy_for(origin: Origin, setting: str, environment: Mapping[str, str]) -> Proxy | None:
    """Return the proxy for a server: from the setting, else from the environment; None for none.

    The environment's is never used for this machine, nor for the hosts in `NO_PROXY`. Raises
    `ValueError`.
    """
    if setting:
        return None if setting == DIRECT else proxy_of(setting)
    url = _variable(environment, f"{origin.scheme}_proxy") or _variable(environment, "all_proxy")
    if (
        not url
        or _is_loopback(origin.host)
        or _is_excepted(origin, _variable(environment, "no_proxy"))
    ):
        return None
    return proxy_of(url)


def request_head(method: str, target: str, fields: Iterable[tuple[str, str]]) -> bytes:
    """Return the head of a request, without its last empty line.

    Raises `ValueError` for invalid characters.
    """
    if not _TARGET.fullmatch(target):
        raise ValueError("its path contains characters that are invalid in a request")
    return f"{method} {target} HTTP/1.1\r\n".encode() + field_lines(fields)


def field_lines(fields: Iterable[tuple[str, str]]) -> bytes:
    """Return header fields as they are sent.

    Raises `ValueError` for one with invalid characters.
    """
    lines = []
    for name, value in fields:
        if not _NAME.fullmatch(name) or not _VALUE.fullmatch(value):
            raise ValueError(
                f"the header {name!r} contains characters that are invalid in a header"
            )
        lines.append(f"{name}: {value}\r\n")
    return "".join(lines).encode("latin-1")


def _variable(environment: Mapping[str, str], name: str) -> str:
    return (environment.get(name) or environment.get(name.upper()) or "").strip()


def _is_loopback(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _is_excepted(origin: Origin, exceptions: str) -> bool:
    return any(
        _matches(origin, one.strip().lower()) for one in exceptions.split(",") if one.strip()
    )


def _matches(origin: Origin, exception: str) -> bool:
    """Return whether an entry of `NO_PROXY` matches this server: `*`, a network, a domain, with or
    without port.
    """
    if exception == "*":
        return True
    try:
        return ip_address(origin.host) in ip_network(exception.strip("[]"), strict=False)
    except ValueError:
        pass
    name, colon, port = exception.rpartition(":")
    if not (colon and port.isdigit()):
        name = exception
        port = ""
    if port and int(port) != origin.port:
        return False
    name = name.strip("[]").removeprefix("*").removeprefix(".")
    return bool(name) and (origin.host == name or origin.host.endswith(f".{name}"))
