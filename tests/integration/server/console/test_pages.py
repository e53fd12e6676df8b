"""The console's page and its files: what a browser may do with them, and what it gets without a
bundle.
"""

import gzip
from pathlib import Path

import pytest

from antiphon.server import console
from tests.support.keys import issued
from tests.support.server import RunningServer
from tests.support.signed_in import Browser, console_of

SCRIPT = "index-Bq3xY_9z.js"
PAGE = (
    '<!doctype html><link href="./assets/index-D2.css"><script type="module" '
    'src="/console/assets/index-Bq3xY_9z.js">'
)


@pytest.fixture
def browser(stateful: RunningServer) -> Browser:
    return Browser(console_of(stateful), page={"accept": "text/html"})


@pytest.fixture
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A bundle."""
    static = tmp_path / "static"
    (static / "assets").mkdir(parents=True)
    (static / "index.html").write_text(PAGE)
    (static / "assets" / SCRIPT).write_text("run()")
    (static / "assets" / f"{SCRIPT}.gz").write_bytes(gzip.compress(b"run()"))
    (static / "assets" / "plain.js").write_text("not hashed")
    (tmp_path / "secret-12345678.js").write_text("a secret")
    monkeypatch.setattr(console, "STATIC", static)
    return static


@pytest.mark.wide
@pytest.mark.parametrize(
    "path", ["/console/", "/console/r/resp_1", "/console/play", "/console/r/%2e%2e"]
)
async def test_every_path_is_the_one_page(browser: Browser, built: Path, path: str) -> None:
    answered = await browser.send_request("GET", path)

    assert (answered.status, answered.header("content-type")) == (200, "text/html; charset=utf-8")
    assert answered.body.decode() == PAGE.replace("./assets", "/console/assets")
    assert answered.header("cache-control") == "no-store"


async def test_the_page_loads_and_frames_nothing_of_others(browser: Browser, built: Path) -> None:
    answered = await browser.send_request("GET", "/console/")
    policy = answered.header("content-security-policy").split("; ")

    assert {
        *("default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "base-uri 'none'"),
        *(
            "require-trusted-types-for 'script'",
            "trusted-types 'none'",
            "form-action 'self'",
            "font-src 'none'",
        ),
    } <= set(policy)
    assert not any(word in part for part in policy for word in ("unsafe", "http:", "https:", "*"))
    assert answered.header("cross-origin-opener-policy") == "same-origin"
    assert answered.header("cross-origin-resource-policy") == "same-origin"
    assert answered.header("referrer-policy") == "no-referrer"
    assert answered.header("x-content-type-options") == "nosniff"


async def test_the_page_needs_no_key(
    stateful: RunningServer, browser: Browser, built: Path
) -> None:
    await issued(stateful.parts.store)
    for path in ("/console/", "/console/r/resp_1", f"/console/assets/{SCRIPT}"):
        assert (await browser.send_request("GET", path)).status == 200
    assert (await browser.send_request("GET", "/console", host="localhost")).header(
        "location"
    ) == "console/"


async def test_a_file_with_a_content_hash_is_cached_permanently(
    browser: Browser, built: Path
) -> None:
    plain = await browser.send_request("GET", f"/console/assets/{SCRIPT}")
    packed = await browser.send_request(
        "GET", f"/console/assets/{SCRIPT}", accept_encoding="br, gzip"
    )

    assert (plain.body, gzip.decompress(packed.body)) == (b"run()", b"run()")
    assert (plain.header("content-encoding"), packed.header("content-encoding")) == ("", "gzip")
    for one in (plain, packed):
        assert one.header("content-type") == "text/javascript; charset=utf-8"
        assert one.header("cache-control") == "public, max-age=31536000, immutable"
        assert one.header("vary") == "accept-encoding"
        assert one.header("x-content-type-options") == "nosniff"


@pytest.mark.parametrize(
    "name",
    [
        *(
            "plain.js",
            "none-12345678.js",
            f"{SCRIPT}.gz",
            "../index.html",
            "../../secret-12345678.js",
            "",
        ),
        *(
            "..%2f..%2fsecret-12345678.js",
            "..\\..\\secret-12345678.js",
            "/etc/passwd-12345678.js",
            "a\0-12345678.js",
        ),
        *("sub/index-Bq3xY_9z.js", "index-Bq3xY_9z.py", "index-Bq3xY_9z"),
    ],
)
async def test_no_other_file_is_readable(browser: Browser, built: Path, name: str) -> None:
    answered = await browser.send_request("GET", f"/console/assets/{name}")

    assert answered.status == 404
    assert b"run()" not in answered.body
    assert b"a secret" not in answered.body


async def test_a_folder_is_no_file(browser: Browser, built: Path) -> None:
    (built / "assets" / "folder-12345678.js").mkdir()

    assert (await browser.send_request("GET", "/console/assets/folder-12345678.js")).status == 404


async def test_the_page_works_where_it_is_mounted(browser: Browser, built: Path) -> None:
    browser.root = "/ai"
    page = (await browser.send_request("GET", "/console/r/resp_1")).body.decode()

    assert f'src="/ai/console/assets/{SCRIPT}"' in page
    assert 'href="/ai/console/assets/index-D2.css"' in page
    assert (await browser.send_request("GET", f"/console/assets/{SCRIPT}")).status == 200


async def test_a_browser_is_redirected_to_the_console(browser: Browser, built: Path) -> None:
    answered = await browser.send_request("GET", "/")
    assert (answered.status, answered.header("location"), answered.header("vary")) == (
        303,
        "console/",
        "accept",
    )
    program = await browser.send_request("GET", "/", accept="*/*")
    assert (program.status, program.json["name"]) == (200, "Antiphon")


async def test_without_a_console_a_browser_sees_the_home_page(
    stateful: RunningServer, browser: Browser, built: Path
) -> None:
    browser.app = console_of(stateful, has_console=False)

    assert (await browser.send_request("GET", "/")).status == 200
    assert (await browser.send_request("GET", "/console/")).status == 404


async def test_without_a_bundle_the_page_explains_how_to_build_it(
    browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(console, "STATIC", tmp_path)
    answered = await browser.send_request("GET", "/console/r/resp_1")

    assert answered.status == 200
    assert b"make serve" in answered.body
    assert b"pip install" in answered.body
    assert "frame-ancestors 'none'" in answered.header("content-security-policy")
    assert (await browser.send_request("GET", "/")).status == 200


async def test_only_get_is_allowed(browser: Browser, built: Path) -> None:
    for path in ("/console/", f"/console/assets/{SCRIPT}", "/console/r/x"):
        assert (await browser.send_request("POST", path)).status == 405
