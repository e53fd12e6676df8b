"""`antiphon status`, of a server that runs."""

import asyncio
import json
import signal
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
from msgspec.structs import replace
from rich.console import Console

from antiphon.cli.status import FOLDED, WHOLE, view_of
from antiphon.status.agent_status import agents_of
from antiphon.status.code_status import CodeStatus
from antiphon.status.status import Status, status_of, together
from antiphon.storage.open import open_store
from antiphon.storage.records.agents import AgentLoad, AgentOffer, AgentQueue
from antiphon.storage.records.responses import StoredResponse
from antiphon.upstream.backend_state import PromptCounts
from tests.support.cli import antiphon, serving
from tests.support.parts import scripted_parts
from tests.support.replay import ReplayBackend

UNAVAILABLE = "http://127.0.0.1:9/v1"


def write(folder: Path, url: str) -> None:
    (folder / "antiphon.toml").write_text(
        f'[[backends]]\nname = "near"\nurl = "{url}"\nconcurrency = 3\n[[backends]]\nname = '
        '"gone"\nurl = '
        f'"{UNAVAILABLE}"\n'
    )


async def test_names_health_and_errors_are_whole_on_a_narrow_screen(
    tmp_path: Path, backend: ReplayBackend
) -> None:
    write(tmp_path, backend.url)
    async with serving(tmp_path, "--port", "0", "--store", "sqlite://") as server:
        output = await antiphon(tmp_path, "status", "--url", server.url, COLUMNS="80")

    backends, _, resources = output.out.partition("shared resource")
    rows = [
        [cell.strip() for cell in line.split("│")[1:3]]
        for line in backends.splitlines()
        if "│" in line
    ]
    assert rows == [["near", "up"], ["gone", "unreached"]]
    assert ["responses", "0 of 2000", "0"] in [
        [cell.strip() for cell in line.split("│")[1:4]] for line in resources.splitlines()
    ]
    stated = (
        "Backend 'gone' (http://127.0.0.1:9/v1) is unreachable: connection refused. "
        "Check that it is running."
    )
    assert f"{stated} (" in " ".join(output.out.split())


async def test_the_table_and_the_json_show_what_the_server_knows(
    tmp_path: Path, backend: ReplayBackend
) -> None:
    write(tmp_path, backend.url)
    store = ("--store", f"sqlite://{tmp_path}/a.db")
    async with serving(tmp_path, "--port", "0", *store) as server:
        connector = aiohttp.TCPConnector(force_close=True)
        async with aiohttp.ClientSession(connector=connector) as http:
            for _ in range(6):
                async with http.post(
                    server.url + "/responses", json={"model": "m", "input": "Hi"}
                ) as response:
                    assert response.status == 200
        output = await antiphon(tmp_path, "status", "--url", server.url)
        reported = await antiphon(
            tmp_path, "status", "--json", "--url", server.url.removesuffix("/v1")
        )
        await server.stop(signal.SIGTERM)

    status = json.loads(reported.out)
    near, removed = status["backends"]
    assert (output.code, reported.code, output.err) == (0, 0, "")
    assert (status["workers"], near["asked"], near["concurrency"]) == (1, 6, 3)
    assert removed["error"] == (
        f"Backend 'gone' ({UNAVAILABLE}) is unreachable: connection refused. "
        "Check that it is running."
    )
    shared = {one["name"]: one for one in status["shared"]}
    assert shared["responses"] == {
        "name": "responses",
        "in_use": 0,
        "capacity": 2000,
        "waiting": 0,
        "oldest_wait": 0.0,
    }
    for word in ("near", "up", "0 of 3", "gone", "unreached", removed["error"]):
        assert word in " ".join(output.out.split())


async def test_the_tenants_with_the_most_stored_data_are_displayed_with_the_limit(
    tmp_path: Path, store_url: str
) -> None:
    store = await open_store(store_url)
    for number in range(12):
        body = b"x" * 1_000 * number
        await store.save(
            StoredResponse(f"resp_{number}", 1, "completed", None, body, tenant=f"[red]{number}")
        )
    await store.save(StoredResponse("resp_none", 1, "completed", None, b"x" * 20_000))
    await store.close()
    (tmp_path / "antiphon.toml").write_text("max_stored_bytes = 20000\n")
    async with serving(
        tmp_path, "--port", "0", "--backend", UNAVAILABLE, "--store", store_url
    ) as server:
        output = (await antiphon(tmp_path, "status", "--url", server.url, COLUMNS="80")).out
        reported = json.loads(
            (await antiphon(tmp_path, "status", "--json", "--url", server.url)).out
        )["storage"]

    largest = [("", 20_000), *((f"[red]{number}", 1_000 * number) for number in range(11, 2, -1))]
    assert reported == {
        "stored_bytes": 86_000,
        "tenants": 12,
        "max_stored_bytes": 20_000,
        "largest": [{"tenant": tenant, "stored_bytes": size} for tenant, size in largest],
    }
    assert "Stored: 86.0 kB of 12 tenants, at most 20.0 kB each (max_stored_bytes)" in output
    rows = [
        [cell.strip() for cell in line.split("│")[1:4]]
        for line in output.splitlines()
        if "│" in line
    ]
    assert rows[-10:-8] == [["(no API key)", "20.0 kB", "100%"], ["[red]11", "11.0 kB", "55%"]]


async def test_without_a_limit_no_share_of_it_is_displayed(tmp_path: Path, store_url: str) -> None:
    store = await open_store(store_url)
    await store.save(StoredResponse("resp_1", 1, "completed", None, b"x" * 20_000, tenant="a"))
    await store.close()
    async with serving(
        tmp_path, "--port", "0", "--backend", UNAVAILABLE, "--store", store_url
    ) as server:
        output = (await antiphon(tmp_path, "status", "--url", server.url)).out
        reported = json.loads(
            (await antiphon(tmp_path, "status", "--json", "--url", server.url)).out
        )["storage"]

    assert "Stored: 20.0 kB of 1 tenant, no limit (max_stored_bytes)" in output
    assert reported["max_stored_bytes"] is None
    assert "%" not in output


async def test_a_server_that_is_not_there_is_one_line_on_standard_error(tmp_path: Path) -> None:
    done = await antiphon(tmp_path, "status", "--once", "--url", "http://127.0.0.1:9")

    assert (done.code, done.out) == (1, "")
    advice = "Start one with `antiphon serve`, or name its URL with --url."
    assert done.err == (
        f"antiphon: The server at http://127.0.0.1:9 is unreachable: connection refused. {advice}\n"
    )


async def test_other_servers_are_distinguished_from_antiphon(
    tmp_path: Path, backend: ReplayBackend
) -> None:
    done = await antiphon(tmp_path, "status", "--once", "--url", backend.url)

    assert (done.code, done.err.count("\n")) == (1, 1)
    assert "is not Antiphon" in done.err


async def test_a_wrong_clock_and_a_waiting_purge_are_displayed(
    tmp_path: Path, store_url: str
) -> None:
    store = await open_store(store_url)
    for number in range(1_002):
        expires_at = 10 if number else None
        await store.save(
            StoredResponse(f"resp_{number}", 1, "completed", None, b"{}", expires_at=expires_at)
        )
    await store.close()
    async with serving(
        tmp_path, "--port", "0", "--backend", UNAVAILABLE, "--store", store_url
    ) as server:
        output = ""
        async with asyncio.timeout(30):
            while "too many for one purge" not in output:
                output = (await antiphon(tmp_path, "status", "--url", server.url)).out
    assert "At least 1,001 responses have expired" in " ".join(output.split())
    assert "clock" not in output.replace("Check the clock", "")


def test_the_clock_that_differs_most_is_displayed() -> None:
    states = [
        Status(
            responses_in_flight=0,
            backends=[],
            shared=[],
            clock_skew=skew,
            purge_held=2,
            disk_full=skew > 0,
        )
        for skew in (0.1, -90.0, 5.0)
    ]
    status = together(states)
    assert (status.clock_skew, status.purge_held, status.disk_full) == (-90.0, 2, True)
    console = Console(width=200)
    with console.capture() as captured:
        console.print(view_of("http://a", status))
    assert status.storage is None
    assert "the stored bytes are unknown." in captured.get()
    assert "This server's clock is 90 s behind the store's. Nothing is deleted." in captured.get()


def printed(status: Status, width: int = 200) -> str:
    console = Console(width=width)
    with console.capture() as displayed:
        console.print(view_of("http://a", status))
    return displayed.get()


def test_the_headings_fit_on_80_columns_next_to_an_address() -> None:
    created, _ = scripted_parts()
    status = status_of(created.models, 0, {})
    status.backends[0].name = "127.0.0.1:11434"
    status.backends[0].models = ["qwen3:8b", "llama3.3", "gemma3"]
    headings = printed(status, 80).partition("┡")[0].replace("┃", " ").split()
    assert set(" ".join([*WHOLE, *FOLDED]).split()) <= set(headings)


def test_the_reusable_prefix_and_the_break_of_a_cache_are_displayed() -> None:
    def reported(reused: int, breaks: int) -> Status:
        created, _ = scripted_parts(dialect="llamacpp")
        backend = created.models.backends[0]
        backend.prompts = PromptCounts(
            1000, reused, breaks, "message 3 (user, text)" if breaks else ""
        )
        return status_of(created.models, 0, {})

    both = msgspec.json.decode(
        msgspec.json.encode(together([reported(900, 0), reported(1000, 2)])), type=Status
    )

    assert "scripted: 90% of its prompts " in printed(reported(900, 0))
    assert all(one in printed(both) for one in (": 95% of its prompts ", "; 2 prompts did not "))
    assert "most recently from message 3 (user, text) on" in printed(both)


def code_of(**fields: Any) -> Status:
    one = status_of(
        scripted_parts()[0].models, 0, {}, code=CodeStatus(sandbox="bubblewrap", **fields)
    )
    return together([one, one])


def test_containers_kernels_and_calls_of_all_workers_are_displayed() -> None:
    calls = {"completed": 3, "timeout": 1}
    rejections = {"busy": 1}
    status = code_of(
        kernels=2, memory=50_000_000, running=1, waiting=4, calls=calls, rejections=rejections
    )
    assert status.code is not None
    displayed = printed(replace(status, code=replace(status.code, containers=7)))
    lines = [
        line
        for line in displayed.splitlines()
        if line.startswith(("Code (bubblewrap): ", "Calls of code "))
    ]
    kernels, outcomes = [line.split(": ")[1].rstrip() for line in lines]
    assert kernels == "7 containers, 4 kernels with 100.0 MB of memory, 2 calls running, 8 waiting"
    assert outcomes == "6 completed, 2 timeout, 2 rejected (busy)"
    assert msgspec.json.decode(msgspec.json.encode(status), type=Status) == status
    one = replace(status.code, containers=1, kernels=1, running=1, calls={}, rejections={})
    assert "1 container, 1 kernel with 100.0 MB of memory, 1 call running, 8 waiting" in printed(
        replace(status, code=one)
    )
    unknown = printed(replace(status, code=replace(one, containers=None)))
    assert "Code (bubblewrap): containers unknown, 1 kernel" in unknown


def test_a_broken_sandbox_is_displayed_with_its_remedy() -> None:
    displayed = printed(code_of(problem="bwrap is not installed. Install the package bubblewrap."))
    assert "'bubblewrap' does not work. bwrap is not " in displayed


def test_agents_queues_and_workers_are_displayed() -> None:
    load = AgentLoad(
        {"host:7": [AgentOffer("refunds", "2", places=16), AgentOffer("write", places=16)]},
        {"refunds": AgentQueue(3, 40), "away": AgentQueue(1, 5)},
        [("host:7", "refunds", 2), ("host:7", "write", 1)],
    )
    status = together([status_of(scripted_parts()[0].models, 0, {})])
    displayed = printed(replace(status, agents=agents_of(load)))

    rows = [[*filter(None, map(str.strip, line.split("│")))] for line in displayed.splitlines()]
    assert ["away", "0", "0", "1", "5.0 s"] in rows
    assert ["refunds", "2", "1", "2", "3", "40.0 s"] in rows
    assert ["write", "1", "1", "1", "0"] in rows
    assert ["host:7", "refunds, write", "3 of 16"] in rows


def test_without_agents_they_are_not_mentioned() -> None:
    assert agents_of(AgentLoad({}, {}, [])) is None
    assert "agent" not in printed(together([status_of(scripted_parts()[0].models, 0, {})]))


def test_without_a_sandbox_code_is_not_mentioned() -> None:
    status = together([status_of(scripted_parts()[0].models, 0, {})])
    assert status.code is None
    assert "ode" not in printed(status).replace("model", "")
