"""What a `web_search` tool may ask for, and how it is refused."""

from typing import Any

import msgspec
import pytest

from antiphon.errors import ClientError
from antiphon.protocol.tools import AnyTool, McpTool
from antiphon.tools.web.options import Location, read_options


def options(**fields: Any) -> Any:
    return read_options(msgspec.convert({"type": "web_search", **fields}, AnyTool), "tools[2]")


def test_a_tool_without_fields_allows_everything() -> None:
    read = options()
    assert read.domains.admits("https://anywhere.example/")
    assert read.is_live
    assert read.location == Location()
    assert read.count(10) == 10


@pytest.mark.parametrize(
    "fields",
    [
        {
            "filters": None,
            "user_location": None,
            "return_token_budget": None,
            "search_content_types": None,
        },
        {"filters": {"allowed_domains": None, "blocked_domains": []}},
        {"user_location": {"type": "approximate", "city": None, "country": None}},
        {"search_content_types": ["text"], "return_token_budget": "default"},
        {"type": "web_search_preview_2025_03_11"},
        {"search_content_types": ["text", "image"]},  # Codex, for models that it knows
        {"filters": {"allowed_domains": [f"d{n}.example" for n in range(100)]}},
    ],
)
def test_what_clients_send_is_taken(fields: dict[str, Any]) -> None:
    assert options(**fields).is_live


@pytest.mark.parametrize(
    ("fields", "param", "code", "words"),
    [
        ({"filters": {"allowed": []}}, "filters.allowed", "unknown_parameter", "Unknown parameter"),
        (
            {"filters": {"allowed_domains": "a.example"}},
            "filters.allowed_domains",
            "invalid_type",
            "array of strings",
        ),
        (
            {"filters": {"blocked_domains": [5]}},
            "filters.blocked_domains[0]",
            "invalid_type",
            "expected a string",
        ),
        (
            {"filters": {"allowed_domains": ["a.example"] * 101}},
            "filters.allowed_domains",
            "array_above_max_length",
            "maximum length 100",
        ),
        (
            {"user_location": {"street": "x"}},
            "user_location.street",
            "unknown_parameter",
            "Unknown parameter",
        ),
        (
            {"user_location": {"type": "exact"}},
            "user_location.type",
            "invalid_value",
            "'approximate'",
        ),
        ({"user_location": {"city": 5}}, "user_location.city", "invalid_type", "expected a string"),
        (
            {"user_location": {"city": "a\r\nb"}},
            "user_location.city",
            "invalid_value",
            "control characters",
        ),
        (
            {"user_location": {"city": "x" * 257}},
            "user_location.city",
            "string_above_max_length",
            "257",
        ),
        (
            {"user_location": {"country": "France"}},
            "user_location.country",
            "invalid_value",
            "alpha-2",
        ),
        (
            {"search_content_types": ["video"]},
            "search_content_types[0]",
            "invalid_value",
            "'text' and 'image'",
        ),
        (
            {"search_content_types": ["image"]},
            "search_content_types[0]",
            "unsupported_value",
            "'text'",
        ),
        (
            {"return_token_budget": 5},
            "return_token_budget",
            "invalid_value",
            "'default' and 'unlimited'",
        ),
        ({"max_results": 0}, "max_results", "integer_below_min_value", ">= 1"),
    ],
)
def test_what_makes_no_sense_is_refused_by_its_place(
    fields: dict[str, Any], param: str, code: str, words: str
) -> None:
    with pytest.raises(ClientError) as refused:
        options(**fields)
    assert (refused.value.status, refused.value.param, refused.value.code) == (
        400,
        f"tools[2].{param}",
        code,
    )
    assert words in refused.value.message


@pytest.mark.parametrize(
    "domain",
    [
        "",
        " ",
        "a.example/path",
        "a b.example",
        "user@a.example",
        "a.example:443",
        "a..example",
        "*",
        ".",
        "a%2e",
    ],
)
def test_what_is_no_domain_is_refused(domain: str) -> None:
    with pytest.raises(ClientError) as refused:
        options(filters={"allowed_domains": [domain]})
    assert refused.value.param == "tools[2].filters.allowed_domains[0]"


@pytest.mark.parametrize(
    ("domain", "url", "is_admitted"),
    [
        ("a.example", "https://a.example/", True),
        ("a.example", "https://deep.down.A.example.:8443/x", True),
        ("a.example", "https://ba.example/", False),
        ("a.example", "https://a.example.org/", False),
        ("A.Example.", "http://a.example", True),
        ("http://a.example/", "http://a.example", True),
        ("*.a.example", "https://b.a.example", True),
        ("Bücher.example", "https://xn--bcher-kva.example/", True),
        ("xn--bcher-kva.example", "https://www.bücher.example/", True),
        ("a.example", "https://a.example@evil.example/", False),
        ("a.example", "ftp://a.example/", False),
        ("a.example", "https://evil.example\\@a.example/", False),
        ("a.example", "//a.example/", False),
        ("127.0.0.1", "http://127.0.0.1:80/", True),
    ],
)
def test_a_domain_admits_itself_and_what_is_below_it(
    domain: str, url: str, is_admitted: bool
) -> None:
    assert options(filters={"allowed_domains": [domain]}).domains.admits(url) is is_admitted
    if is_admitted:
        assert not options(filters={"blocked_domains": [domain]}).domains.admits(url)


def test_another_tool_is_refused() -> None:
    with pytest.raises(ClientError):
        read_options(McpTool(server_label="x"))
