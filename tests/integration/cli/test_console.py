"""`antiphon console`: a link that works once."""

import webbrowser
from collections.abc import Iterator
from pathlib import Path

import aiohttp
import pytest

from antiphon.access.sessions import ConsoleSessions
from antiphon.ids import now
from antiphon.storage.open import open_store
from tests.support.cli import antiphon, serving


@pytest.fixture(autouse=True)
def opened(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The links that a browser was to open."""
    links: list[str] = []
    monkeypatch.setattr(webbrowser, "open", links.append)
    yield links


async def test_the_link_is_printed_and_opened_and_its_code_is_in_the_store(
    tmp_path: Path, opened: list[str]
) -> None:
    url = f"sqlite:///{tmp_path}/a.db"
    done = await antiphon(tmp_path, "console", "--store", url)
    link = done.out.strip()
    store = await open_store(url)
    code = link.partition("#code=")[2]
    redeemed = [await ConsoleSessions(store, now).redeem(code) for _ in range(2)]
    await store.close()

    assert (done.code, opened, redeemed) == (0, [link], [True, False])
    assert link.startswith("http://localhost:8321/console/#code=")
    assert code not in done.err


@pytest.mark.parametrize(
    ("flags", "settings", "start"),
    [
        (("--url", "https://ai.example.com/v1"), "", "https://ai.example.com/console/#code="),
        ((), 'host = "0.0.0.0"\nport = 9000\n', "http://localhost:9000/console/#code="),
        ((), 'host = "::1"\n', "http://localhost:8321/console/#code="),
        ((), 'host = "fd00::7"\n', "http://[fd00::7]:8321/console/#code="),
        ((), 'host = "10.1.2.3"\n', "http://10.1.2.3:8321/console/#code="),
        ((), 'host = "ai.internal"\n', "http://ai.internal:8321/console/#code="),
    ],
)
async def test_the_link_leads_to_the_server(
    tmp_path: Path, opened: list[str], flags: tuple[str, ...], settings: str, start: str
) -> None:
    (tmp_path / "antiphon.toml").write_text(f'store = "sqlite:///{tmp_path}/a.db"\n{settings}')
    done = await antiphon(tmp_path, "console", "--no-open", *flags)

    assert (done.code, opened) == (0, [])
    assert done.out.startswith(start)


@pytest.mark.parametrize(
    ("settings", "words"),
    [("console = false\n", "disabled"), ('store = "sqlite://"\n', "in memory")],
)
async def test_without_a_server_to_sign_in_to_there_is_no_link(
    tmp_path: Path, opened: list[str], settings: str, words: str
) -> None:
    (tmp_path / "antiphon.toml").write_text(settings)
    done = await antiphon(tmp_path, "console")

    assert (done.code, done.out, opened) == (2, "", [])
    assert words in done.err


async def test_the_link_signs_in_to_a_server_that_runs(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/a.db"
    async with (
        serving(tmp_path, "--port", "0", "--store", url) as server,
        aiohttp.ClientSession() as http,
    ):
        root = server.url.removesuffix("/v1")
        async with http.get(f"{root}/admin/v1/session") as answered:
            assert (await answered.json())["needs_key"] is False
        key = (
            await antiphon(tmp_path, "keys", "create", "--store", url, "--role", "read")
        ).out.strip()
        done = await antiphon(tmp_path, "console", "--no-open", "--store", url, "--url", server.url)
        page, code = done.out.strip().split("#code=")
        async with http.get(page) as displayed:
            assert (displayed.status, page) == (200, f"{root}/console/")
        statuses = []
        for body in ({"code": code}, {"code": code}, {"key": key}):
            sent = {"antiphon-console": "1", "sec-fetch-site": "same-origin", "origin": root}
            async with http.post(f"{root}/admin/v1/session", json=body, headers=sent) as answered:
                statuses.append((answered.status, (await answered.json()).get("role")))

    assert statuses == [(200, "admin"), (401, None), (200, "read")]
