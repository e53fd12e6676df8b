"""`antiphon-verify`, the command of the package alone; tests/integration/cli/test_verify.py has
`antiphon verify`.
"""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from antiphon.upstream.demo.backend import DemoBackend
from antiphon_verify.version import __version__
from tests.support.cli import antiphon, antiphon_verify
from tests.support.server import serve

MODELS = ("--only", "responses:models")


@pytest.fixture
async def url() -> AsyncIterator[str]:
    """Antiphon with its scripted model."""
    async with serve(DemoBackend()) as server:
        yield server.url


async def test_it_judges_a_server_as_the_command_of_the_server_does(
    tmp_path: Path, url: str
) -> None:
    alone = await antiphon_verify(
        tmp_path, "--base-url", url, *MODELS, "--json", "alone.json", "--html", "alone.html"
    )
    ours = await antiphon(tmp_path, "verify", "--base-url", url, *MODELS, "--json", "ours.json")
    reports = [json.loads((tmp_path / name).read_text()) for name in ("alone.json", "ours.json")]

    assert alone.code == ours.code == 0
    assert (
        alone.out.splitlines()[:-1] == ours.out.splitlines()[:-1]
    )  # the last line has the seconds
    assert reports[0]["results"] == reports[1]["results"]
    assert [report["version"] for report in reports] == [__version__] * 2
    assert "responses:models:entry" in (tmp_path / "alone.html").read_text()


async def test_a_requirement_is_repeated_with_every_byte(tmp_path: Path, url: str) -> None:
    done = await antiphon_verify(
        tmp_path, "--base-url", url, "--replay", "responses:models:unknown"
    )

    assert done.code == 0
    assert done.out.startswith("GET /models/no-such-model\n")


async def test_reports_are_compared(tmp_path: Path, url: str) -> None:
    await antiphon_verify(tmp_path, "--base-url", url, *MODELS, "--json", "one.json")
    matrix = await antiphon_verify(tmp_path, "matrix", "one.json", "one.json")
    same = await antiphon_verify(tmp_path, "diff", "one.json", "one.json")
    badge = await antiphon_verify(tmp_path, "badge", "one.json")

    assert matrix.code == same.code == badge.code == 0
    assert "responses:models" in matrix.out
    assert same.out == ""
    assert "4 of 4 musts" in badge.out


WRONG: dict[str, tuple[list[str], str]] = {
    "no server": (
        ["--base-url", "http://127.0.0.1:9/v1"],
        "No server answers at http://127.0.0.1:9/v1",
    ),
    "no URL": (["--base-url", "localhost:11434"], "'localhost:11434' is not a URL"),
    "another scheme": (["--base-url", "ftp://127.0.0.1/v1"], "the scheme 'ftp'"),
    "a key in the URL": (
        ["--base-url", "http://sk-secret@127.0.0.1:9/v1"],
        "must not contain a key",
    ),
    "a key in a query": (
        ["--base-url", "http://127.0.0.1:9/v1?key=sk-secret"],
        "must not contain a key",
    ),
    "a password without a host": (
        ["--base-url", "http://user:sk-secret"],
        "'http://user:…' is not a URL",
    ),
    "an unknown area": (["--only", "respones"], "'antiphon-verify list' shows them"),
    "an unknown profile": (["--profile", "olama"], "There is no profile 'olama'"),
    "no report": (["badge", "nowhere.json"], "nowhere.json cannot be read"),
    "a folder that does not exist": (
        ["--json", "no/such/folder.json"],
        "no/such/folder.json cannot be written",
    ),
}


@pytest.mark.parametrize(("arguments", "words"), WRONG.values(), ids=WRONG)
async def test_a_mistake_is_reported_on_one_line(
    tmp_path: Path, arguments: list[str], words: str
) -> None:
    done = await antiphon_verify(tmp_path, *arguments)

    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert done.err.startswith("antiphon-verify: ")
    assert words in done.err
    assert "sk-secret" not in done.err


async def test_a_key_with_invalid_header_characters_is_rejected_and_not_displayed(
    tmp_path: Path,
) -> None:
    done = await antiphon_verify(tmp_path, "--key-env", "MINE", MINE="sk-secret\n-é")

    assert done.code == 2
    assert "MINE is not a valid key" in done.err
    assert "sk-secret" not in done.err


async def test_an_unknown_option_ends_with_the_code_of_a_mistake(tmp_path: Path) -> None:
    done = await antiphon_verify(tmp_path, "--modle", "demo")

    assert done.code == 2
    assert "--modle" in done.err


async def test_its_help_names_the_program_that_was_started(tmp_path: Path) -> None:
    alone = await antiphon_verify(tmp_path, "matrix", "--help")
    ours = await antiphon(tmp_path, "verify", "matrix", "--help")
    version = await antiphon_verify(tmp_path, "--version")

    assert "antiphon-verify matrix ollama.json vllm.json" in alone.out
    assert "antiphon verify matrix ollama.json vllm.json" in ours.out
    assert "antiphon-verify" not in ours.out
    assert version.out == f"antiphon-verify {__version__}\n"
