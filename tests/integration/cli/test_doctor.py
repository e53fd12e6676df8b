"""`antiphon doctor`: what it finds, what it advises, and that it asks backends for nothing but
their models.
"""

import asyncio
import json
import socket
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from antiphon.cli import diagnosis
from antiphon.cli.launching import server as launched
from antiphon.storage.open import open_store
from antiphon.storage.operations import leases
from tests.support.cli import antiphon, serving
from tests.support.raw_http import received, speaking
from tests.support.replay import ReplayBackend

UNAVAILABLE = "http://127.0.0.1:9/v1"


async def findings(
    home: Path, *arguments: str, **variables: str
) -> tuple[int, dict[str, list[dict[str, Any]]]]:
    """The exit code, and what was found, by area."""
    done = await antiphon(home, "doctor", "--json", *arguments, **variables)
    assert done.err == ""
    found: dict[str, list[dict[str, Any]]] = {}
    for one in json.loads(done.out):
        found.setdefault(one["area"], []).append(one)
    return done.code, found


def write(home: Path, backend: str, more: str = "", above: str = "") -> None:
    store = f"sqlite://{home}/a.db"
    port = f'port = 0\nstore = "{store}"\n{above}\n'
    (home / "antiphon.toml").write_text(
        f'{port}[[backends]]\nname = "gpu"\nurl = "{backend}"\n{more}\n'
    )


@pytest.mark.wide
async def test_nothing_is_wrong_where_everything_is_there(
    tmp_path: Path, backend: ReplayBackend
) -> None:
    write(tmp_path, backend.url)
    before = await findings(tmp_path)
    await antiphon(tmp_path, "migrate")
    code, found = await findings(tmp_path)

    assert before[1]["store"][0]["text"].endswith(" The first start creates it.")
    assert (before[0], code) == (0, 0)
    assert {
        one["state"]
        for area in ("settings", "store", "clock", "backends", "port")
        for one in found[area]
    } == {"ok"}
    assert found["backends"][0]["text"] == f"Backend 'gpu' ({backend.url}) lists 1 model."
    assert "can be read and written; its schema is" in found["store"][0]["text"]
    assert found["versions"][0]["text"].startswith("Antiphon ")
    assert list(found) == [
        "settings",
        "store",
        "clock",
        "backends",
        "port",
        "sandbox",
        "packages",
        "versions",
    ]


@pytest.mark.wide
async def test_a_seal_key_that_prevents_the_start_is_a_problem(
    tmp_path: Path, backend: ReplayBackend
) -> None:
    write(tmp_path, backend.url)
    code, found = await findings(tmp_path, ANTIPHON_SEAL_KEYS="short")

    assert code == 1
    assert [
        (one["state"], "`seal_keys` is not 32 bytes in base64" in one["text"])
        for one in found["settings"]
    ] == [("problem", True)]
    assert "short" not in str(found["settings"])


@pytest.mark.wide
async def test_listing_models_requests_only_the_models_of_the_backend(tmp_path: Path) -> None:
    requested: list[bytes] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            head, _ = await received(reader)
            requested.append(head.split(b"\r\n")[0])
            writer.write(b'HTTP/1.1 200 OK\r\ncontent-length: 23\r\n\r\n{"data": [{"id": "m"}]}')

    async with speaking(answer) as url:
        write(tmp_path, url, 'api = "auto"\ndialect = "openai"')
        code, _ = await findings(tmp_path)

    assert (code, requested) == (0, [b"GET /v1/models HTTP/1.1"])


@pytest.mark.wide
async def test_each_finding_has_its_line_and_the_last_line_counts_the_problems(
    tmp_path: Path,
) -> None:
    write(tmp_path, UNAVAILABLE)
    done = await antiphon(tmp_path, "doctor")

    assert done.code == 1
    refused = (
        f"Backend 'gpu' ({UNAVAILABLE}) is unreachable: connection refused. "
        "Check that it is running."
    )
    assert f"problem  backends  {refused}\n" in done.out
    assert done.out.endswith("\n1 problem found.\n")


async def test_wrong_settings_are_a_problem_and_the_versions_are_still_displayed(
    tmp_path: Path,
) -> None:
    write(tmp_path, UNAVAILABLE, "wieght = 2")
    code, found = await findings(tmp_path)

    assert (code, list(found)) == (1, ["settings", "versions"])
    assert "Did you mean `weight`?" in found["settings"][0]["text"]


@pytest.mark.wide
async def test_a_key_that_is_not_set_is_a_problem(tmp_path: Path, backend: ReplayBackend) -> None:
    write(tmp_path, backend.url, 'key_env = "GPU_KEY"')
    missing = await findings(tmp_path)
    present = await findings(tmp_path, GPU_KEY="sk-secret")

    assert (missing[0], present[0]) == (1, 0)
    assert "the variable GPU_KEY, which is not set" in missing[1]["backends"][0]["text"]
    assert present[1]["backends"][0]["text"].endswith("lists 1 model, with the key in GPU_KEY.")
    assert "sk-secret" not in str(present)


@pytest.mark.wide
async def test_a_model_that_no_backend_lists_is_a_problem(
    tmp_path: Path, backend: ReplayBackend
) -> None:
    backend.models = [{"id": "llava"}]
    write(tmp_path, backend.url, above='vision = "lava"')
    code, found = await findings(tmp_path)

    assert code == 1
    text = "`vision` names the model 'lava', which no backend lists. Did you mean 'llava'?"
    assert found["backends"][1]["text"] == text
    assert found["backends"][1]["advice"]


@pytest.mark.parametrize("is_running", [False, True])
async def test_an_agent_with_the_name_of_a_model_is_a_problem(
    tmp_path: Path, backend: ReplayBackend, is_running: bool
) -> None:
    backend.models = [{"id": "refunds"}]
    write(tmp_path, backend.url, above="" if is_running else 'agents = ["refunds"]')
    if is_running:
        store = await open_store(f"sqlite://{tmp_path}/a.db", is_written=True)
        await store.write(leases.beat_with_agents, "worker", '[{"name":"refunds"}]')
        await store.close()
    code, found = await findings(tmp_path)

    assert code == 1
    assert "has the name of an agent" in found["backends"][1]["text"]


@pytest.mark.wide
@pytest.mark.parametrize(("schema", "state"), [(0, "note"), (999, "problem")])
async def test_the_schema_version_is_reported_and_not_changed(
    tmp_path: Path, backend: ReplayBackend, schema: int, state: str
) -> None:
    write(tmp_path, backend.url)
    with closing(sqlite3.connect(tmp_path / "a.db")) as database:
        database.execute(f"PRAGMA user_version = {schema}")
    _, found = await findings(tmp_path)

    assert (found["store"][0]["state"], bool(found["store"][0]["advice"])) == (state, True)
    assert f"has schema {schema}" in found["store"][0]["text"]
    with closing(sqlite3.connect(tmp_path / "a.db")) as database:
        assert database.execute("PRAGMA user_version").fetchone() == (schema,)


@pytest.mark.wide
async def test_a_store_on_postgres_has_a_clock_and_a_schema(tmp_path: Path, store_url: str) -> None:
    before = await findings(tmp_path, "--store", store_url, "--backend", UNAVAILABLE)
    await antiphon(tmp_path, "migrate", "--store", store_url)
    _, found = await findings(tmp_path, "--store", store_url, "--backend", UNAVAILABLE)

    assert before[1]["store"][0]["state"] in {"note", "ok"}
    assert found["store"][0]["state"] == found["clock"][0]["state"] == "ok"


@pytest.mark.wide
async def test_a_store_that_cannot_be_reached_is_a_problem(tmp_path: Path) -> None:
    _, found = await findings(
        tmp_path, "--store", "postgresql://me@127.0.0.1:1/x", "--backend", UNAVAILABLE
    )

    assert found["store"][0]["state"] == "problem"
    assert (
        "postgresql://…@127.0.0.1:1/x cannot be used: connection refused"
        in found["store"][0]["text"]
    )


@pytest.mark.wide
async def test_a_full_disk_is_a_problem(
    tmp_path: Path, backend: ReplayBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(diagnosis, "LITTLE", 2**80)
    write(tmp_path, backend.url)
    code, found = await findings(tmp_path)

    assert code == 1
    assert f"The disk of {tmp_path} has only " in found["store"][1]["text"]
    assert found["store"][1]["advice"].endswith("`retention_days`.")


@pytest.mark.wide
async def test_a_port_is_free_or_ours_or_taken(
    tmp_path: Path, backend: ReplayBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    flags = ("--backend", backend.url, "--store", "sqlite://")
    async with serving(tmp_path, "--port", "0", *flags) as server:
        port = server.url.rpartition(":")[2].removesuffix("/v1")
        _, ours = await findings(tmp_path, *flags, ANTIPHON_PORT=port)
    monkeypatch.setattr(launched, "PATIENCE", 0.05)  # what listens now never answers
    with socket.create_server(("127.0.0.1", 0)) as other:
        other.listen()
        port = str(other.getsockname()[1])
        _, taken = await findings(tmp_path, *flags, ANTIPHON_PORT=port)

    assert ours["port"][0]["text"].startswith("An Antiphon is running at 127.0.0.1:")
    assert taken["port"][0]["text"] == f"127.0.0.1:{port} cannot be used: address already in use."


@pytest.mark.wide
async def test_a_sandbox_that_works_is_fine(tmp_path: Path, backend: ReplayBackend) -> None:
    write(tmp_path, backend.url, above='code_sandbox = "bubblewrap"')
    code, found = await findings(tmp_path)

    assert code == 0
    assert found["sandbox"][0]["text"].startswith("The sandbox 'bubblewrap' works")


@pytest.mark.wide
async def test_a_sandbox_that_does_not_work_is_a_problem(
    tmp_path: Path, backend: ReplayBackend
) -> None:
    write(
        tmp_path, backend.url, above='code_sandbox = "bubblewrap"\ncode_python = "/nowhere/python"'
    )
    code, found = await findings(tmp_path)
    write(tmp_path, backend.url, above='code_sandbox = "e2b"\ncode_e2b_url = "http://127.0.0.1:9"')
    _, without_key = await findings(tmp_path)

    assert code == 1
    assert found["sandbox"][0]["text"].startswith("The sandbox 'bubblewrap' does not work: ")
    assert "needs the key in E2B_API_KEY, which is not set" in without_key["sandbox"][0]["text"]


@pytest.mark.wide
async def test_an_image_server_is_checked_for_availability(
    tmp_path: Path, backend: ReplayBackend
) -> None:
    write(tmp_path, backend.url, above=f'images_model = "flux"\nimages_backend = "{backend.url}"')
    _, present = await findings(tmp_path)
    write(tmp_path, backend.url, above=f'images_model = "flux"\nimages_backend = "{UNAVAILABLE}"')
    code, missing = await findings(tmp_path)
    write(tmp_path, backend.url, above=f'images_backend = "{UNAVAILABLE}"')
    _, unnamed = await findings(tmp_path)

    assert present["images"][0]["text"] == f"The image server ({backend.url}) responds."
    assert code == 1
    assert f"({UNAVAILABLE}) is unreachable: connection refused." in missing["images"][0]["text"]
    assert "Set images_model" in unnamed["images"][0]["text"]


@pytest.mark.wide
async def test_a_check_that_hangs_is_left(
    tmp_path: Path, backend: ReplayBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(diagnosis, "PATIENCE", 0.05)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        write(tmp_path, f"http://127.0.0.1:{silent.getsockname()[1]}/v1")
        code, found = await findings(tmp_path)

    assert code == 1
    assert found["backends"][0]["text"] == "The check timed out after 0.05 s."
