"""What is left out of a URL before a person or a log sees it."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from antiphon.errors import ConfigError, redacted, without_secrets

SECRET = "s3cr3t"

DISPLAYED = {
    "http://127.0.0.1:11434/v1": "http://127.0.0.1:11434/v1",
    f"http://user:{SECRET}@host/v1": "http://…@host/v1",
    f"http://{SECRET}@host/v1": "http://…@host/v1",
    f"user:{SECRET}@host/v1": "…@host/v1",
    f"http://host/v1?key={SECRET}&{SECRET}#{SECRET}": "http://host/v1?key=…&…#…",
    f"http://[user:{SECRET}@host": "http://…@host",
    f"http://user:with @ and / and {SECRET}@host": "http://…@host",
    "postgresql://ada@host/database": "postgresql://…@host/database",
    f"postgresql://user:{SECRET}@host/database": "postgresql://…@host/database",
    f"postgresql://user:a/{SECRET}@host/database": "postgresql://…@host/database",
    f"postgresql://user:a?{SECRET}@host/database": "postgresql://…",
    f"http://host/v1?key=a@{SECRET}": "http://…",
    f"//user:{SECRET}@host/v1": "…@host/v1",
    f"postgresql://h/db?user=u&password={SECRET}&sslmode=require": "postgresql://h/db?user=…&password=…&sslmode=require",
    "sqlite:////home/me@work/a.db": "sqlite:////home/me@work/a.db",
    f"sqlite://user:{SECRET}@host/a.db": "sqlite://…@host/a.db",
    "/home/me@work/a.db": "/home/me@work/a.db",
}


@pytest.mark.parametrize(("url", "displayed"), DISPLAYED.items(), ids=range(len(DISPLAYED)))
def test_what_may_be_secret_in_a_url_is_left_out(url: str, displayed: str) -> None:
    assert redacted(url) == displayed


@pytest.mark.parametrize(
    ("text", "displayed"),
    [
        (f"The backend 'http://a:{SECRET}@h/v1' failed.", "The backend 'http://…@h/v1' failed."),
        (f"Traces go to http://h/?key={SECRET}, at once.", "Traces go to http://h/?key=…"),
        ("Does its URL end in /v1? Use postgresql://user@host/database.", None),
        ("store: /home/me@work/a.db is locked", None),
        ("Install it with `npm install -g @openai/codex`.", None),
    ],
)
def test_a_message_about_settings_quotes_no_secret(text: str, displayed: str | None) -> None:
    assert str(ConfigError(text)).startswith(displayed or text)
    assert without_secrets(without_secrets(text)) == without_secrets(text)
    assert SECRET not in ConfigError(text).message


PARTS = st.text(st.sampled_from("ab1:@/#?%&=+.-_[]"), max_size=6)
"""Pieces of passwords, encoded or not."""


@given(
    st.sampled_from(
        ["http://", "https://", "postgresql://", "s3://", "socks5://", "//", "", "mysql+x://"]
    ),
    st.tuples(PARTS, PARTS, PARTS),
    st.sampled_from(["host", "127.0.0.1:5432/db", "[::1]/v1?sslmode=require", "a,b/db#x"]),
)
def test_no_user_information_is_displayed_whatever_it_contains(
    scheme: str, parts: tuple[str, ...], place: str
) -> None:
    user, before, after = parts
    assume(scheme or "://" not in f"{user}:{before}")  # what is before that is the scheme
    url = f"{scheme}u{SECRET}{user}:{before}{SECRET}{after}@{place}"
    assert SECRET not in redacted(url)
    assert SECRET not in ConfigError(f"The backend '{url}' failed.").message
    assert SECRET not in ConfigError(f"Requests to {url}, failed.").message
