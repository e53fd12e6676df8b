"""URLs of databases in libpq's form, with its parameters and with passwords that are not
encoded.
"""

from urllib.parse import unquote, urlsplit

import pytest

from antiphon.errors import ConfigError
from antiphon.storage.postgres.address import CONNECT_TIMEOUT, read_address
from tests.support.cases import each


@each(
    ("url", "dsn"),
    [
        ("postgresql://u@h/db", "postgresql://u@h/db"),
        ("postgres://u:p@h:5432/db", "postgres://u:p@h:5432/db"),
        ("postgresql:///db?host=/tmp/pg&user=u", "postgresql:///db?host=%2Ftmp%2Fpg&user=u"),
        (
            "postgresql://u@a:1,b:2/db?target_session_attrs=any",
            "postgresql://u@a:1,b:2/db?target_session_attrs=any",
        ),
        ("postgresql://u@[::1]:5432/db", "postgresql://u@[::1]:5432/db"),
        (
            "postgresql://u@h/db?sslmode=require&channel_binding=require",
            "postgresql://u@h/db?sslmode=require",
        ),
        ("postgresql://u@h/db?application_name=a b", "postgresql://u@h/db?application_name=a%20b"),
        (
            "postgresql://u@h/db?options=-c%20jit%3Doff",
            "postgresql://u@h/db?options=-c%20jit%3Doff",
        ),
        ("postgresql://u@h/db?schema=s", "postgresql://u@h/db?search_path=%22s%22"),
        ("postgresql://u@h/db?pooler=transaction&connect_timeout=3", "postgresql://u@h/db"),
        ("postgresql://u:p%40x@h/db", "postgresql://u:p%40x@h/db"),
    ],
)
def test_the_driver_gets_what_it_understands(url: str, dsn: str) -> None:
    assert read_address(url).dsn == dsn


@each("password", ["a@b", "a/b", "a#b", "a:b", "a?b", "a?b=c", "50%", "@/#?:@", "ä"])
def test_a_password_need_not_be_encoded(password: str) -> None:
    for end in ("/db", "/db?sslmode=disable", ""):
        parts = urlsplit(read_address(f"postgresql://u:{password}@host:5432{end}").dsn)
        assert (parts.username, unquote(parts.password or "")) == ("u", password)
        assert (parts.hostname, parts.port, parts.path) == ("host", 5432, end.partition("?")[0])


def test_parameters_without_effect_are_named() -> None:
    url = "postgresql://u@h/db?channel_binding=require&keepalives=1&keepalives_idle=30&gssencmode=disable&sslmode=prefer"
    assert read_address(url).ignored == (
        "channel_binding",
        "gssencmode",
        "keepalives",
        "keepalives_idle",
    )


@each(
    ("query", "seconds"),
    [
        ("", CONNECT_TIMEOUT),
        ("?connect_timeout=30", 30),
        ("?connect_timeout=1", 1),
        ("?connect_timeout=0", None),
        ("?connect_timeout=", CONNECT_TIMEOUT),
    ],
)
def test_the_time_limit_of_connecting_is_that_of_the_url(query: str, seconds: float | None) -> None:
    assert read_address(f"postgresql://u@h/db{query}").connect_timeout == seconds


def test_an_invalid_time_limit_is_refused_without_the_url() -> None:
    with pytest.raises(ConfigError) as refused:
        read_address("postgresql://u:secret@h/db?connect_timeout=soon")
    assert "connect_timeout" in refused.value.message
    assert "secret" not in refused.value.message


@each(
    ("query", "is_pooled"),
    [("", False), ("?pgbouncer=true", True), ("?pooler=transaction", True), ("?pooler=x", False)],
)
def test_a_pooler_is_declared_by_the_url(query: str, is_pooled: bool) -> None:
    assert read_address(f"postgresql://u@h/db{query}").is_pooled is is_pooled
