"""Where a URL leads, which proxy is used, and that no head can be made to say something else."""

import pytest

from antiphon.upstream.http1.origin import (
    Origin,
    field_lines,
    origin_of,
    proxy_for,
    proxy_of,
    request_head,
    target_of,
)

AUTHORITIES = {
    "http://h/v1": ("h:80", "h"),
    "https://h/v1": ("h:443", "h"),
    "https://h:8443/v1": ("h:8443", "h:8443"),
    "http://[::1]:8000/v1": ("[::1]:8000", "[::1]:8000"),
    "http://bücher.test/v1": ("xn--bcher-kva.test:80", "xn--bcher-kva.test"),
}


@pytest.mark.parametrize("url", AUTHORITIES)
def test_a_url_leads_to_a_host_and_a_port(url: str) -> None:
    origin = origin_of(url)

    assert (origin.authority, origin.host_field) == AUTHORITIES[url]


@pytest.mark.parametrize(
    "url", ["ftp://h/v1", "h:80", "", "http://", "http://h:x/", "http://h:99999/"]
)
def test_what_is_no_url_of_a_server_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        origin_of(url)


@pytest.mark.parametrize(
    ("url", "path", "target"),
    [
        ("http://h/v1", "/models", "/v1/models"),
        ("http://h", "/models", "/models"),
        ("http://h/v1", "/../api/ps", "/api/ps"),
        ("http://h/a/v1/", "/../tokenize", "/a/tokenize"),
        ("http://h/v1", "/../../../x", "/x"),
        ("http://h/ü v/v1", "/a?b=c", "/%C3%BC%20v/v1/a?b=c"),
    ],
)
def test_a_path_lies_below_that_of_the_url(url: str, path: str, target: str) -> None:
    assert target_of(url, path) == target


@pytest.mark.parametrize("value", ["a\r\nx: y", "a\nb", "a\0b", "a\x7fb", "€"])
def test_a_value_that_would_break_the_head_is_refused(value: str) -> None:
    with pytest.raises(ValueError, match="invalid in a header"):
        field_lines([("x", value)])


@pytest.mark.parametrize("name", ["", "a b", "a:", "a\r\n", "é"])
def test_a_name_that_would_break_the_head_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="invalid in a header"):
        field_lines([(name, "x")])


@pytest.mark.parametrize("target", ["", "/a b", "/a\r\nx: y", "/a\0", "/ü"])
def test_a_path_that_would_break_the_head_is_refused(target: str) -> None:
    with pytest.raises(ValueError, match="invalid in a request"):
        request_head("POST", target, [])


FAR = "https://api.example.com/v1"
PROXY = "http://proxy.example:3128"


def proxy_at(url: str, setting: str = "", **environment: str) -> Origin | None:
    proxy = proxy_for(origin_of(url), setting, environment)
    return proxy.origin if proxy else None


@pytest.mark.parametrize(
    ("url", "environment"),
    [
        (FAR, {"HTTPS_PROXY": PROXY}),
        (FAR, {"https_proxy": PROXY}),
        (FAR, {"https_proxy": PROXY, "HTTPS_PROXY": "http://another:1"}),
        (FAR, {"ALL_PROXY": PROXY}),
        (FAR, {"HTTPS_PROXY": PROXY, "ALL_PROXY": "http://another:1"}),
        (FAR, {"HTTPS_PROXY": "proxy.example:3128"}),
        ("http://10.0.0.8:8000/v1", {"HTTP_PROXY": PROXY}),
        (
            FAR,
            {
                "HTTPS_PROXY": PROXY,
                "NO_PROXY": "example.org, example.com.evil, 10.0.0.0/8, api.example.com:8443",
            },
        ),
    ],
)
def test_the_environment_names_the_proxy(url: str, environment: dict[str, str]) -> None:
    assert proxy_at(url, **environment) == Origin("http", "proxy.example", 3128)


@pytest.mark.parametrize(
    ("url", "environment"),
    [
        (FAR, {}),
        (FAR, {"HTTP_PROXY": PROXY}),
        ("http://10.0.0.8:8000/v1", {"HTTPS_PROXY": PROXY}),
        *(
            (FAR, {"HTTPS_PROXY": PROXY, "NO_PROXY": one})
            for one in ("*", "example.com", ".example.com", "*.example.com")
        ),
        (FAR, {"HTTPS_PROXY": PROXY, "no_proxy": "x, API.example.com:443"}),
        ("http://10.0.0.8/v1", {"HTTP_PROXY": PROXY, "NO_PROXY": "10.0.0.0/8"}),
        ("http://10.0.0.8/v1", {"HTTP_PROXY": PROXY, "NO_PROXY": "10.0.0.8"}),
        ("http://[fd00::8]/v1", {"HTTP_PROXY": PROXY, "NO_PROXY": "[fd00::8]"}),
        *(
            (f"http://{host}:8000/v1", {"ALL_PROXY": PROXY})
            for host in ("localhost", "127.0.0.9", "[::1]", "a.localhost")
        ),
    ],
)
def test_without_a_name_and_for_what_is_excepted_no_proxy_is_used(
    url: str, environment: dict[str, str]
) -> None:
    assert proxy_at(url, **environment) is None


def test_the_setting_overrides_the_environment() -> None:
    assert proxy_at(FAR, "none", HTTPS_PROXY=PROXY) is None
    assert proxy_at(FAR, "http://mine:1", HTTPS_PROXY=PROXY, NO_PROXY="*") == Origin(
        "http", "mine", 1
    )
    assert proxy_at("http://127.0.0.1/v1", "http://mine:1") == Origin("http", "mine", 1)


@pytest.mark.parametrize("url", ["socks5://p:1", "https://p:1", "http://", "http://p:x"])
def test_a_proxy_that_cannot_be_used_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        proxy_of(url)


def test_a_proxy_gets_its_name_and_password_as_a_header() -> None:
    assert proxy_of("http://me:p%40ss@p:1").fields == [
        ("proxy-authorization", "Basic bWU6cEBzcw==")
    ]
    assert proxy_of("http://p:1").fields == []
