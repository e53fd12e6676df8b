"""Who may read the metrics and the status: no header, and no proxy on the same machine, widens
it.
"""

from ipaddress import ip_network

import pytest

from antiphon.server.watchers import WatchAccess, is_forwarded

KEY = "watch-key"
NO_CALLER = WatchAccess(has_listener=True)
NETWORK = WatchAccess(networks=(ip_network("10.1.0.0/16"), ip_network("fd00::/8")))
BY_KEY = WatchAccess(key=KEY)
LISTENER = WatchAccess(is_listener=True)

PROXY_HEADERS = (
    *(
        "X-Forwarded-For",
        "X-Forwarded-Host",
        "X-Forwarded-Proto",
        "X-Forwarded-Server",
        "Forwarded",
        "Via",
    ),
    *("X-Real-IP", "X-Client-IP", "True-Client-IP", "CF-Connecting-IP"),
)


def may_read(
    access: WatchAccess, client: str | None, *, needs_key: bool = True, **headers: str
) -> bool:
    raw = [
        (name.replace("_", "-").lower().encode(), value.encode()) for name, value in headers.items()
    ]
    scope = {
        "headers": raw,
        "client": (client, 1) if client else None,
        "server": ("10.1.0.9", 8321),
    }
    return access.allows(scope, needs_key=needs_key)


@pytest.mark.parametrize(
    "client", ["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1", "10.1.0.9", None]
)
def test_without_settings_a_local_program_may_read_as_long_as_no_key_is_required(
    client: str | None,
) -> None:
    assert may_read(WatchAccess(), client, needs_key=False)
    assert not may_read(WatchAccess(), client, needs_key=True)


@pytest.mark.parametrize("access", [NO_CALLER, NETWORK, BY_KEY])
def test_with_settings_this_machine_is_an_address_like_any_other(access: WatchAccess) -> None:
    assert not may_read(access, "127.0.0.1", needs_key=False)
    assert not may_read(access, None, needs_key=False)


@pytest.mark.parametrize(
    ("client", "may"),
    [
        ("10.1.7.7", True),
        ("::ffff:10.1.7.7", True),
        ("fd00::7", True),
        ("10.2.0.1", False),
        ("x", False),
    ],
)
def test_a_network_that_is_named_may_read(client: str, may: bool) -> None:
    assert may_read(NETWORK, client) is may


@pytest.mark.parametrize("header", PROXY_HEADERS)
def test_headers_of_a_proxy_grant_no_access_to_metrics(header: str) -> None:
    for stated in ("127.0.0.1", "10.1.7.7", "for=10.1.7.7", ""):
        assert not may_read(NETWORK, "8.8.8.8", **{header: stated})
        assert not may_read(NETWORK, "10.1.7.7", **{header: stated})
        assert not may_read(WatchAccess(), "127.0.0.1", needs_key=False, **{header: stated})


def test_the_key_opens_them_from_anywhere() -> None:
    assert may_read(BY_KEY, "8.8.8.8", Authorization=f"Bearer {KEY}", X_Forwarded_For="1.2.3.4")
    assert may_read(BY_KEY, "8.8.8.8", Authorization=f"bearer  {KEY} ")


@pytest.mark.parametrize(
    "displayed", [f"Basic {KEY}", f"Bearer {KEY}x", f"Bearer x{KEY}", "Bearer", "Bearer ", KEY, "é"]
)
def test_anything_else_is_no_key(displayed: str) -> None:
    assert not may_read(BY_KEY, "8.8.8.8", Authorization=displayed)
    assert not may_read(NETWORK, "8.8.8.8", Authorization=displayed)


def test_two_keys_are_invalid() -> None:
    headers = [(b"authorization", f"Bearer {KEY}".encode())] * 2
    assert not BY_KEY.allows({"headers": headers, "client": ("8.8.8.8", 1)}, needs_key=True)


def test_the_separate_listener_requires_no_key() -> None:
    assert may_read(LISTENER, "10.200.0.1", X_Forwarded_For="1.2.3.4")


def test_ordinary_headers_are_no_proxy() -> None:
    assert not is_forwarded([(b"host", b"x"), (b"user-agent", b"curl"), (b"accept", b"*/*")])
