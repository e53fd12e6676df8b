"""Reading URLs that others name."""

import pytest

from antiphon.outbound.ssrf import read_url
from tests.support.cases import each

READ = [
    ("https://example.com", "https://example.com"),
    ("HTTPS://EXAMPLE.com.:443/A?b=c#d", "https://example.com/A?b=c"),
    ("http://example.com:8080/a b", "http://example.com:8080/a%20b"),
    ("https://müller.example/ä?ö=ü", "https://xn--mller-kva.example/%C3%A4?%C3%B6=%C3%BC"),
    ("https://example.com/%2e%2e/a%2Fb", "https://example.com/a%2Fb"),
    ("https://example.com/@user:word\\", "https://example.com/@user:word%5C"),
    ("https://1.1.1.1./", "https://1.1.1.1/"),
    ("https://[2606:4700:4700:0::1111]:8443/", "https://[2606:4700:4700::1111]:8443/"),
    ("https://_a.x-y.example/", "https://_a.x-y.example/"),
    ("https://127。0。0。1/", "https://127.0.0.1/"),
    ("https://ⓛocalhost/", "https://localhost/"),
    ("https://example.com:", "https://example.com"),
]
NOT_READ = [
    *(
        "",
        "example.com",
        "//example.com/",
        "ftp://example.com/",
        "file:///etc/passwd",
        "gopher://a/_x",
        "data:,x",
    ),
    *(
        "https:example.com",
        "https:/example.com",
        "https:///example.com",
        "https:\\\\example.com",
        "https://",
        "https://?",
    ),
    *(
        "https://user@example.com/",
        "https://user:word@example.com/",
        "https://@example.com/",
        "https://:@example.com/",
    ),
    *(
        "https://a\\@b/",
        "https://a\\b/",
        "https://a%2fb/",
        "https://a%00b/",
        "https://%6cocalhost/",
        "https://a%40b/",
    ),
    *(
        "https://a b/",
        "https://a\tb/",
        "https://a\nb/",
        "https://a\x00b/",
        " https://a/",
        "https://a/\r\nhost: b",
        "\x01",
    ),
    *(
        "https://127.1/",
        "https://2130706433/",
        "https://0x7f000001/",
        "https://0177.0.0.1/",
        "https://127.0.0.0x1/",
    ),
    *(
        "https://0/",
        "https://a.1/",
        "https://1.2.3.4.5/",
        "https://999.1.1.1/",
        "https://0x/",
        "https://127.0.0.1../",
    ),
    *(
        "https://[::1",
        "https://::1/",
        "https://[::1]x/",
        "https://[fe80::1%25eth0]/",
        "https://[fe80::1%eth0]/",
    ),
    *(
        "https://[127.0.0.1]/",
        "https://[v1.x]/",
        "https://[::1]:x/",
        "https://a:b/",
        "https://a:80:80/",
    ),
    *(
        "https://a:0/",
        "https://a:65536/",
        "https://a:-1/",
        "https://a:\uff18\uff10/",
        "https://a..b/",
        "https://.a/",
    ),
    *(
        "https://exa\u00admple.com/",
        "https://exa\u200bmple.com/",
        "https://a\uff0fb/",
        "https://a\uff20b/",
        "https://a℀b/",
    ),
    *(
        "https://a;b/",
        "https://a,b/",
        "https://a&b/",
        "https://a'b/",
        "https://{a}/",
        "https://a|b/",
        "https://a*b/",
    ),
    *(
        f"https://{64 * 'a'}/",
        f"https://{200 * 'a.'}b/",
        f"https://{64 * 'ä'}/",
        f"https://a/{8192 * 'a'}",
        "https://\ud800/",
    ),
]


@pytest.mark.parametrize(("text", "read"), READ)
def test_a_url_is_parsed_as_it_will_be_requested(text: str, read: str) -> None:
    assert str(read_url(text)) == read


@each("text", NOT_READ)
def test_what_programs_may_read_in_different_ways_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        read_url(text)


@pytest.mark.parametrize("text", [text for text, _ in READ])
def test_reading_what_was_read_changes_nothing(text: str) -> None:
    assert read_url(str(read_url(text))) == read_url(text)
