"""`antiphon verify` as a user starts it."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp import web

from antiphon.storage.open import open_store
from antiphon.storage.operations import reports
from antiphon.upstream.demo.backend import DemoBackend
from antiphon_verify.areas import REQUIREMENTS
from tests.integration.conformance.test_http import serving
from tests.support.cli import antiphon
from tests.support.server import serve

MODELS = ("--only", "responses:models")
KEY = "sk-secret-0123456789"


@pytest.fixture
async def url() -> AsyncIterator[str]:
    """Antiphon with its scripted model."""
    async with serve(DemoBackend()) as server:
        yield server.url


async def bare(request: web.Request) -> web.Response:
    """A server that omits the type of its models and repeats the key."""
    model = {"id": "m", "key": request.headers.get("Authorization")}
    return web.json_response({"object": "list", "data": [model]})


async def test_a_fully_conforming_server_is_reported_as_such(tmp_path: Path, url: str) -> None:
    done = await antiphon(tmp_path, "verify", "--base-url", url, *MODELS)

    assert done.code == 0
    table = done.out.splitlines()[1].split()
    conclusion = done.out.splitlines()[-1]
    assert table[:4] == ["responses:models", "4", "of", "4"]
    assert (
        conclusion.startswith(f"{url} meets every must ")
        and ": 4; 0 are not offered, 0 " in conclusion
    )


async def test_a_failure_takes_two_lines(tmp_path: Path) -> None:
    async with serving(bare) as url:
        done = await antiphon(tmp_path, "verify", "--base-url", url, *MODELS)
    lines = done.out.splitlines()
    place = next(place for place, line in enumerate(lines) if "responses:models:entry" in line)

    assert done.code == 1
    assert lines[place].startswith("must   responses:models:entry: Each model has a string `id`")
    assert lines[place].endswith("[spec 18 (adjacent endpoints)]")
    assert lines[place + 1].startswith("came   status 200, ")
    assert lines[-1].startswith(f"{url} violates ")


async def test_the_key_of_the_environment_is_sent_and_never_displayed(tmp_path: Path) -> None:
    files = ("--json", "report.json", "--html", "report.html", "--verbose")
    async with serving(bare) as url:
        done = await antiphon(
            tmp_path, "verify", "--base-url", url, *MODELS, *files, OPENAI_API_KEY=KEY
        )
        named = await antiphon(
            tmp_path,
            "verify",
            "--base-url",
            url,
            "--key-env",
            "MINE",
            *MODELS,
            "--verbose",
            MINE=KEY,
        )
        raw = await antiphon(
            tmp_path,
            "verify",
            "--base-url",
            url,
            "--replay",
            "responses:models:entry",
            OPENAI_API_KEY=KEY,
        )

    written = (tmp_path / "report.json").read_text() + (tmp_path / "report.html").read_text()
    for reported in (done.out, named.out, raw.out, written):
        assert "Bearer ***" in reported
        assert KEY not in reported


async def test_the_report_is_written_as_data_and_as_a_page_which_a_matrix_reads(
    tmp_path: Path, url: str
) -> None:
    done = await antiphon(
        tmp_path, "verify", "--base-url", url, *MODELS, "--json", "a.json", "--html", "a.html"
    )
    report = json.loads((tmp_path / "a.json").read_text())
    matrix = await antiphon(tmp_path, "verify", "matrix", "a.json", "a.json")
    page = await antiphon(tmp_path, "verify", "matrix", "a.json", "a.json", "--html")

    assert done.code == matrix.code == page.code == 0
    assert {result["id"] for result in report["results"]} == {
        one for one in REQUIREMENTS if ":models:" in one
    }
    assert "responses:models:entry" in (tmp_path / "a.html").read_text()
    assert "responses:models" in matrix.out
    assert page.out.lower().startswith("<!doctype html>")


async def test_a_requirement_is_checked_again_with_every_byte(tmp_path: Path, url: str) -> None:
    done = await antiphon(
        tmp_path, "verify", "--base-url", url, "--replay", "responses:models:unknown"
    )

    assert done.code == 0
    assert done.out.startswith("GET /models/no-such-model\n")
    assert "\n404\n" in done.out
    assert done.out.endswith('"param":"model","code":"model_not_found"}}\n')


async def test_requirements_are_listed_a_line_each(tmp_path: Path) -> None:
    everything = await antiphon(tmp_path, "verify", "list")
    area = await antiphon(tmp_path, "verify", "list", "responses:models")

    assert [line.split()[0] for line in everything.out.splitlines()] == list(REQUIREMENTS)
    assert [line.split()[1] for line in area.out.splitlines()] == [
        requirement.level
        for requirement in REQUIREMENTS.values()
        if requirement.id.startswith("responses:models:")
    ]
    assert area.out.splitlines()[0].rstrip().endswith(" a list in `data`.")


async def test_skipped_requirements_send_no_requests(tmp_path: Path, url: str) -> None:
    skip = (
        "--skip",
        "responses:models:entry,responses:models:one",
        "--skip",
        "responses:models:list",
    )
    done = await antiphon(tmp_path, "verify", "--base-url", url, *MODELS, *skip)

    assert done.code == 0
    assert "skipped: 3 of responses:models: Skipped on request." in done.out


async def test_what_a_profile_knows_is_no_news(tmp_path: Path) -> None:
    known = '[[known]]\nids = ["responses:models"]\nwhy = "It is bare."\nsource = "seen"\n'
    async with serving(bare) as url:
        (tmp_path / "mine.toml").write_text(f'name = "Mine"\nbase_url = "{url}"\n{known}')
        done = await antiphon(tmp_path, "verify", "--profile", "mine.toml", *MODELS)

    assert done.code == 0
    assert "known  responses:models:entry: It is bare. (seen)\ncame   status 200, " in done.out
    assert "known  responses:models:list: It is bare. (seen)\ncame   It holds now" in done.out


async def test_the_address_comes_from_the_environment_too(tmp_path: Path, url: str) -> None:
    assert (await antiphon(tmp_path, "verify", *MODELS, OPENAI_BASE_URL=f"{url}/")).code == 0


WRONG: dict[str, tuple[list[str], str]] = {
    "no server": (
        ["--base-url", "http://127.0.0.1:9/v1"],
        "No server answers at http://127.0.0.1:9/v1",
    ),
    "no URL": (["--base-url", "localhost:11434"], "is not a URL"),
    "a key in the URL": (
        ["--base-url", "http://sk-secret@127.0.0.1:9/v1"],
        "must not contain a key",
    ),
    "an unknown area": (["--only", "respones"], "respones"),
    "an unknown id to skip": (["--skip", "no:such:id"], "no:such:id"),
    "an unknown requirement to replay": (["--replay", "no:such:id"], "no:such:id"),
    "an area of another API": (["--api", "chat", "--only", "responses:models"], "responses:models"),
    "an unknown API": (["--api", "embeddings"], "embeddings"),
    "an unknown profile": (["--profile", "olama"], "olama"),
    "no time": (["--timeout", "0"], "--timeout"),
    "an unknown area to list": (["list", "respones"], "respones"),
    "no report": (["matrix", "nowhere.json"], "nowhere.json"),
    "no reports": (["matrix"], "REPORT"),
    "an unknown command": (["lst"], "lst"),
}


@pytest.mark.parametrize(("arguments", "words"), WRONG.values(), ids=WRONG)
async def test_mistakes_are_reported_on_one_line(
    tmp_path: Path, arguments: list[str], words: str
) -> None:
    done = await antiphon(tmp_path, "verify", *arguments)

    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert done.err.startswith("antiphon: ")
    assert words in done.err
    assert "sk-secret" not in done.err


async def test_an_unwritable_file_is_reported_before_any_request(tmp_path: Path, url: str) -> None:
    done = await antiphon(
        tmp_path, "verify", "--base-url", url, *MODELS, "--json", "no/such/folder.json"
    )

    assert (done.code, done.out) == (2, "")
    assert "no/such/folder.json cannot be written" in done.err


async def test_an_earlier_report_stays_until_there_is_a_new_one(tmp_path: Path) -> None:
    (tmp_path / "report.json").write_text("earlier")
    done = await antiphon(
        tmp_path, "verify", "--base-url", "http://127.0.0.1:9/v1", "--json", "report.json"
    )

    assert done.code == 2
    assert (tmp_path / "report.json").read_text() == "earlier"


async def test_a_server_without_models_requires_a_name(tmp_path: Path) -> None:
    async def none(request: web.Request) -> web.Response:
        return web.json_response({"object": "list", "data": []})

    async with serving(none) as url:
        done = await antiphon(tmp_path, "verify", "--base-url", url)

    assert done.code == 2
    assert "Name one with --model" in done.err


async def test_a_server_without_models_that_repeats_the_key_does_not_display_it(
    tmp_path: Path,
) -> None:
    async def none(request: web.Request) -> web.Response:
        return web.json_response({"received": request.headers.get("Authorization")})

    async with serving(none) as url:
        done = await antiphon(tmp_path, "verify", "--base-url", url, OPENAI_API_KEY=KEY)

    assert "Bearer ***" in done.err
    assert KEY not in done.err


async def judged_as(folder: Path, name: str, url: str, *flags: str) -> None:
    """Write a report of the models' area to a file of this name."""
    await antiphon(folder, "verify", "--base-url", url, *MODELS, "--json", f"{name}.json", *flags)


async def test_a_report_begins_with_the_cause_and_a_command_that_shows_it(tmp_path: Path) -> None:
    async with serving(bare) as url:
        done = await antiphon(
            tmp_path, "verify", "--base-url", url, "--only", "responses:chain:taken"
        )
    lines = done.out.splitlines()

    assert done.code == 1
    assert lines[0].startswith("must   responses:objects:made: ")
    assert [line[:7] for line in lines[1:5]] == ["came   ", "at     ", "try    ", "blocks "]
    assert lines[2] == "at     output = nothing"
    assert lines[3].startswith('try    curl -sS "$BASE_URL"/responses ')
    assert lines[4] == "blocks 1 requirements of responses:chain"


async def test_a_report_has_a_form_a_name_and_a_description_of_the_run(
    tmp_path: Path, url: str
) -> None:
    await judged_as(
        tmp_path,
        "a",
        url,
        "--name",
        "Ours",
        "--about",
        "version=1.2",
        "--about",
        "command=serve --x=y",
    )
    report = json.loads((tmp_path / "a.json").read_text())

    assert (report["format"], report["name"]) == (1, "Ours")
    assert report["about"] == {"version": "1.2", "command": "serve --x=y"}


async def test_columns_are_named_by_flag_report_or_file(tmp_path: Path, url: str) -> None:
    await judged_as(tmp_path, "one", url)
    await judged_as(tmp_path, "two", url, "--name", "Second")
    plain = await antiphon(tmp_path, "verify", "matrix", "one.json", "two.json")
    named = await antiphon(
        tmp_path, "verify", "matrix", "one.json", "two.json", "--name", "First", "--markdown"
    )
    chart = await antiphon(tmp_path, "verify", "chart", "one.json", "two.json", "--name", "First")
    badge = await antiphon(tmp_path, "verify", "badge", "two.json")

    assert "one demo" in plain.out
    assert "Second demo" in plain.out
    assert "| area | First | Second |" in named.out
    assert ">First<" in chart.out
    assert "Second: 4 of 4 musts" in badge.out


async def test_what_got_worse_fails_and_what_is_the_same_does_not(tmp_path: Path, url: str) -> None:
    await judged_as(tmp_path, "old", url)
    async with serving(bare) as other:
        await judged_as(tmp_path, "new", other)
    worse = await antiphon(tmp_path, "verify", "diff", "old.json", "new.json")
    better = await antiphon(tmp_path, "verify", "diff", "new.json", "old.json")
    same = await antiphon(tmp_path, "verify", "diff", "old.json", "old.json")

    assert (worse.code, better.code, same.code) == (1, 0, 0)
    assert worse.out.startswith("worse  responses:models:entry  passed -> failed: ")
    assert "responses:models:entry  failed -> passed" in better.out
    assert same.out == ""


MISUSED: dict[str, tuple[list[str], str]] = {
    "no value about it": (["--about", "version"], "KEY=VALUE"),
    "more names than reports": (
        ["matrix", "a.json", "--name", "x", "--name", "y"],
        "2 names for 1",
    ),
    "a form of the future": (["badge", "future.json"], "format 99"),
}


@pytest.mark.parametrize(("arguments", "words"), MISUSED.values(), ids=MISUSED)
async def test_misuse_is_reported_on_one_line(
    tmp_path: Path, url: str, arguments: list[str], words: str
) -> None:
    await judged_as(tmp_path, "a", url)
    (tmp_path / "future.json").write_text(
        (tmp_path / "a.json").read_text().replace('"format": 1', '"format": 99')
    )
    done = await antiphon(tmp_path, "verify", *arguments)

    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert words in done.err


@pytest.mark.wide
async def test_a_report_is_stored_for_the_console(tmp_path: Path, url: str) -> None:
    place = f"sqlite:///{tmp_path}/kept.db"
    done = await antiphon(
        tmp_path, "verify", "--base-url", url, *MODELS, "--save", "--store", place, "--name", "mine"
    )
    store = await open_store(place)
    stored = await store.read(reports.every)
    await store.close()

    assert done.code == 0
    assert [(one.server, json.loads(one.summary)["conforms"]) for one in stored] == [("mine", True)]
    assert stored[0].id in done.err


async def test_a_report_is_not_stored_in_memory(tmp_path: Path) -> None:
    done = await antiphon(
        tmp_path, "verify", "--base-url", "http://127.0.0.1:1/v1", "--save", "--store", "sqlite://"
    )

    assert done.code != 0
    assert "so the report would be lost" in done.err
