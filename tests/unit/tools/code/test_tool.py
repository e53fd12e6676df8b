"""Calls of code and commands: their containers, variables, files, limits and endings, with machines
of the tests.
"""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from msgspec.structs import replace

from antiphon.errors import ClientError
from antiphon.protocol.tools import CodeInterpreterTool, ShellTool
from antiphon.tools.base import ToolOutcome, Use
from antiphon.tools.code import holds
from antiphon.tools.code.kernels import CLOSED
from antiphon.tools.code.tool import (
    BUSY,
    EXPIRED,
    FILES_LOST,
    LOST_HOLD,
    LOST_VARIABLES,
    NO_CONTAINERS,
    OVERLOADED,
    CodeLimits,
    CodeTools,
)
from tests.support.containers import MemoryContainers, MemoryContent
from tests.support.fake_machines import PNG, FakeSandbox
from tests.support.waiting import let_others_run, until

AUTO = CodeInterpreterTool(container={"type": "auto"})
SHELL = ShellTool(environment={"type": "container_auto"})
ID = "cntr_1"


class Bench:
    """One process with its tools. Several of them may have the same store."""

    def __init__(self, other: "Bench | None" = None, **limits: Any) -> None:
        self.store = other.store if other else MemoryContainers()
        self.content = other.content if other else MemoryContent()
        self.sandbox = FakeSandbox()
        name = "worker_2" if other else "worker_1"
        self.tools = CodeTools(self.sandbox, self.store, self.content, name, CodeLimits(**limits))

    async def code(
        self, code: str, container: str = ID, tenant: str = "", tool: Any = AUTO
    ) -> ToolOutcome:
        return await self.tools.run(
            Use(tool, "code_interpreter", {"code": code}, tenant, container_id=container)
        )

    async def shell(self, *commands: str, **more: Any) -> ToolOutcome:
        return await self.tools.run(
            Use(SHELL, "shell", {"commands": [*commands], **more}, container_id=ID)
        )

    async def begin(
        self, code: str, container: str = ID, tenant: str = ""
    ) -> "asyncio.Task[ToolOutcome]":
        """Begin a call, and wait until its code runs."""
        task = asyncio.create_task(self.code(code, container, tenant))
        await until(lambda: any(one.is_running for one in self.sandbox.machines))
        return task


@pytest.fixture
async def bench() -> AsyncIterator[Bench]:
    one = Bench()
    yield one
    await one.tools.close()


def logs(result: ToolOutcome) -> list[str]:
    return [one["logs"] for one in result.fields["outputs"] if one["type"] == "logs"]


async def test_what_is_printed_comes_before_figures_and_the_value(bench: Bench) -> None:
    result = await bench.code(f"print('P1')\nprint('P2')\nshow({PNG!r})\n1 + 5")

    printed, image, value = result.fields["outputs"]
    assert printed == {"type": "logs", "logs": "P1\nP2\n"}
    assert image["url"].startswith("data:image/png;base64,iVBORw0KGgo")
    assert value == {"type": "logs", "logs": "6"}
    assert isinstance(result.stated, str) and "P1\nP2\n6" in result.stated


async def test_nothing_printed_is_an_empty_list(bench: Bench) -> None:
    result = await bench.code("x = 1")

    assert (result.fields, result.stated, result.is_failed) == (
        {"outputs": []},
        "The code ran and printed nothing.",
        False,
    )


async def test_an_exception_is_printed_and_the_call_is_completed(bench: Bench) -> None:
    result = await bench.code("1 / 0")

    assert not result.is_failed
    assert "ZeroDivisionError" in logs(result)[0]


async def test_variables_stay_for_the_next_call_of_the_container_and_of_no_other(
    bench: Bench,
) -> None:
    await bench.code("x = 41")

    assert logs(await bench.code("x + 1")) == ["42"]
    assert "NameError" in logs(await bench.code("x", "cntr_2"))[0]
    assert len(bench.sandbox.machines) == 2


async def test_a_container_that_a_tool_makes_is_created_by_its_first_call(bench: Bench) -> None:
    container_id = await bench.tools.container_for(AUTO, "", "")
    assert container_id.startswith("cntr_") and not bench.store.containers

    await bench.code("1", container_id)

    container = bench.store.containers[container_id]
    assert (container.name, container.is_auto, container.idle_minutes, container.calls) == (
        "auto",
        True,
        20,
        1,
    )
    assert container.memory_limit == "1g"


async def test_files_created_by_code_are_stored_and_named_to_the_model(bench: Bench) -> None:
    result = await bench.code("files['a.csv'] = b'1,2'")

    (created,) = result.files
    assert (created.container_id, created.path, created.filename) == (
        ID,
        "/mnt/data/a.csv",
        "a.csv",
    )
    assert not created.is_figure and created.file_id.startswith("cfile_")
    assert "/mnt/data/a.csv" in str(result.stated)
    assert bench.content.blobs[bench.store.rows[ID]["/mnt/data/a.csv"].blob] == b"1,2"


async def test_a_changed_file_keeps_its_id_and_an_unchanged_one_is_not_uploaded_again(
    bench: Bench,
) -> None:
    (first,) = (await bench.code("files['a'] = b'1'; files['b'] = b'2'")).files[:1]
    (changed,) = (await bench.code("files['a'] = b'3'")).files

    assert changed == first
    assert (await bench.code("1")).files == []
    assert bench.content.blobs[bench.store.rows[ID]["/mnt/data/a"].blob] == b"3"


async def test_a_file_deleted_by_code_is_removed(bench: Bench) -> None:
    await bench.code("files['a'] = b'1'; files['b'] = b'2'")
    await bench.code("del files['a']")

    assert bench.store.paths(ID) == ["/mnt/data/b"]


async def test_a_figure_is_also_a_file_of_its_id(bench: Bench) -> None:
    result = await bench.code(f"show({PNG!r}); files['a'] = b'1'")

    figure, other = result.files
    assert figure.is_figure and not other.is_figure
    assert figure.filename == f"{figure.file_id}.png"
    assert bench.content.blobs[bench.store.rows[ID][figure.path].blob] == PNG


async def test_what_is_no_png_is_no_figure(bench: Bench) -> None:
    result = await bench.code("show(b'<svg onload=alert(1)>')")

    assert (result.fields["outputs"], result.files) == ([], [])
    assert "1 figures are omitted" in str(result.stated)


async def test_a_file_that_a_client_adds_or_deletes_between_calls_is_seen_by_the_next(
    bench: Bench,
) -> None:
    await bench.code("files['a'] = b'1'")
    row = bench.store.rows[ID].pop("/mnt/data/a")
    bench.content.blobs["row:up"] = b"new"
    bench.store.rows[ID]["/mnt/data/b"] = replace(
        row, id="cfile_b", path="/mnt/data/b", blob="row:up", size=3
    )

    assert logs(await bench.code("files")) == ["{'b': b'new'}"]
    assert bench.store.paths(ID) == ["/mnt/data/b"]


async def test_the_files_of_the_tool_are_in_the_container_and_those_of_other_tenants_are_not(
    bench: Bench,
) -> None:
    bench.content.upload("", "file-1", "data set.csv", b"1,2")
    bench.content.upload("other", "file-2", "secret.csv", b"canary")
    tool = CodeInterpreterTool(container={"type": "auto", "file_ids": ["file-1", "file-2"]})

    assert logs(await bench.code("files", tool=tool)) == ["{'file-1-data set.csv': b'1,2'}"]


async def test_a_file_that_a_later_request_names_is_added_to_the_container(bench: Bench) -> None:
    await bench.code("1")
    bench.content.upload("", "file-1", "a/../b.csv", b"1,2")
    tool = CodeInterpreterTool(container={"type": "auto", "file_ids": ["file-1"]})

    assert logs(await bench.code("files", tool=tool)) == ["{'file-1-a_.._b.csv': b'1,2'}"]


async def test_calls_of_one_container_run_one_after_the_other(bench: Bench) -> None:
    first = await bench.begin("wait()")
    second = asyncio.create_task(bench.code("2"))
    other = await bench.code("3", "cntr_2")
    assert logs(other) == ["3"] and not second.done()

    bench.sandbox.machines[0].gate.set()

    assert (logs(await first), logs(await second)) == (["waited\n"], ["2"])
    assert bench.store.containers[ID].calls == 2


async def test_another_worker_continues_with_the_files_and_reports_lost_variables(
    bench: Bench,
) -> None:
    await bench.code("x = 1; files['a'] = b'1'")
    other = Bench(bench)

    moved = await other.code("sorted(files), 'x' in globals()")
    assert logs(moved) == ["(['a'], False)"]
    assert LOST_VARIABLES in str(moved.stated)
    assert LOST_VARIABLES not in str((await other.code("1")).stated)

    back = await bench.code("'x' in globals()")
    assert logs(back) == ["False"] and LOST_VARIABLES in str(back.stated)
    assert len(bench.sandbox.alive) == 1
    await other.tools.close()


async def test_a_call_waits_for_another_worker_that_holds_the_container(bench: Bench) -> None:
    other = Bench(bench)
    first = await bench.begin("wait()")
    second = asyncio.create_task(other.code("2"))
    await let_others_run()
    assert not other.sandbox.machines

    bench.sandbox.machines[0].gate.set()

    assert logs(await first) == ["waited\n"]
    assert logs(await second) == ["2"]
    await other.tools.close()


async def test_the_wait_for_another_worker_is_bounded(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(holds, "WAIT_SECONDS", 0.0)
    await bench.code("1")
    bench.store.holders[ID] = "hold_of_another"

    result = await bench.code("2")

    assert (result.stated, result.is_failed, result.fields) == (BUSY, True, {"outputs": []})
    assert bench.tools.state("bubblewrap").rejections == {"busy": 1}


async def test_a_deleted_container_ends_the_call_in_it(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(holds, "RENEW_EVERY", 0.0)
    running = await bench.begin("wait()")
    await bench.store.delete_container("", ID)

    result = await running

    assert (result.stated, result.is_failed) == (LOST_HOLD, True)
    assert not bench.sandbox.alive
    assert not bench.store.holders


async def test_a_cancelled_call_ends_its_machine_and_releases_its_container(bench: Bench) -> None:
    running = await bench.begin("wait()")
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running

    assert not bench.sandbox.alive and not bench.store.holders
    assert LOST_VARIABLES in str((await bench.code("1")).stated)


@pytest.mark.parametrize(
    ("ending", "words"), [("timeout", "120 seconds"), ("memory", "1g"), ("lost", "ended during")]
)
async def test_a_call_over_its_limits_fails_and_loses_variables_but_no_files(
    bench: Bench, ending: str, words: str
) -> None:
    await bench.code("x = 1")
    result = await bench.code(f"print('so far'); files['a'] = b'1'; end({ending!r})")

    assert result.is_failed
    assert words in str(result.stated) and "files in /mnt/data are kept" in str(result.stated)
    assert logs(result) == ["so far\n"]
    assert bench.store.paths(ID) == ["/mnt/data/a"]
    assert not bench.sandbox.alive
    again = await bench.code("'x' in globals(), sorted(files)")
    assert logs(again) == ["(False, ['a'])"]
    assert bench.tools.state("bubblewrap").calls == {"completed": 2, ending: 1}


async def test_the_model_reads_that_and_why_its_code_was_paused(bench: Bench) -> None:
    result = await bench.code("spend(25.0, 81.0); end('timeout')")

    assert (result.cpu, result.paused) == (25.0, 81.0)
    assert all(
        words in str(result.stated) for words in ("81 s", "25 CPU seconds", "code_cores_per_tenant")
    )
    assert "paused" not in str((await bench.code("spend(0.5, 0.5)")).stated)


async def test_the_cpu_time_of_all_commands_of_a_call_is_added_up(bench: Bench) -> None:
    result = await bench.shell("spin 2 1", "spin 3 0", "a=1")

    assert (result.cpu, result.paused) == (5.0, 1.0)
    assert "paused for 1 s" in str(result.stated)


async def test_the_machines_of_a_tenant_are_its_own(bench: Bench) -> None:
    await bench.code("1", "cntr_a", "a")
    await bench.code("1", "cntr_b", "b")

    assert [machine.limits.owner for machine in bench.sandbox.machines] == ["a", "b"]


async def test_the_model_reads_where_files_of_a_lost_machine_cannot_be_read(bench: Bench) -> None:
    await bench.code("x = 1")
    bench.sandbox.machines[0].variables["close"] = lambda: setattr(
        bench.sandbox.machines[0], "is_closed", True
    )

    result = await bench.code("close(); end('lost')")

    assert FILES_LOST in str(result.stated)


async def test_a_machine_that_does_not_start_fails_the_call_with_the_reason(bench: Bench) -> None:
    bench.sandbox.is_broken = True
    result = await bench.code("1")

    assert result.is_failed and "No machine can start." in str(result.stated)
    assert bench.tools.state("bubblewrap").calls == {"failed": 1}


async def test_a_container_that_expired_since_the_response_began_fails_the_call_only(
    bench: Bench,
) -> None:
    await bench.code("1")
    bench.store.containers[ID] = replace(bench.store.containers[ID], status="expired")

    assert (await bench.code("1")).stated == EXPIRED
    assert await bench.tools.container_for(AUTO, "", ID) != ID


async def test_the_newest_container_is_used_again_while_it_runs(bench: Bench) -> None:
    await bench.code("1", "cntr_mine", "mine")

    assert await bench.tools.container_for(AUTO, "mine", "cntr_mine") == "cntr_mine"
    assert await bench.tools.container_for(SHELL, "mine", "cntr_mine") == "cntr_mine"
    assert await bench.tools.container_for(AUTO, "other", "cntr_mine") != "cntr_mine"
    assert await bench.tools.container_for(AUTO, "mine", "cntr_unknown") != "cntr_unknown"


async def test_a_container_by_id_must_exist_and_run(bench: Bench) -> None:
    await bench.code("1", "cntr_mine", "mine")
    tool = CodeInterpreterTool(container="cntr_mine")
    assert await bench.tools.container_for(tool, "mine", "cntr_other") == "cntr_mine"

    with pytest.raises(ClientError) as unknown:
        await bench.tools.container_for(tool, "other", "")
    bench.store.containers["cntr_mine"] = replace(
        bench.store.containers["cntr_mine"], status="expired"
    )
    with pytest.raises(ClientError) as expired:
        await bench.tools.container_for(tool, "mine", "")

    assert (unknown.value.status, unknown.value.message) == (404, "Container not found.")
    assert (expired.value.status, expired.value.message) == (400, "Container is expired.")
    assert (await bench.code("1", "cntr_mine", "other", tool)).stated == EXPIRED


async def test_an_unknown_file_of_the_tool_is_a_404(bench: Bench) -> None:
    tool = CodeInterpreterTool(container={"type": "auto", "file_ids": ["file-none"]})
    with pytest.raises(ClientError) as refused:
        await bench.tools.container_for(tool, "", "")

    assert (refused.value.status, refused.value.message) == (404, "No such File object: file-none")


async def test_the_quota_of_containers_fails_the_call(bench: Bench) -> None:
    bench.store.quota_is_used = True

    assert (await bench.code("1")).stated == NO_CONTAINERS
    assert bench.tools.state("bubblewrap").rejections == {"containers": 1}


async def test_the_kernel_of_a_tenant_that_was_idle_for_longest_makes_room() -> None:
    bench = Bench(kernels_per_tenant=2, running=4)
    for name in "abc":
        await bench.code(f"x = {name!r}; files[{name!r}] = b'1'", f"cntr_{name}", "mine")
    await bench.code("x = 1", "cntr_d", "other")

    assert bench.tools.state("bubblewrap").kernels == 3
    assert logs(await bench.code("x", "cntr_b", "mine")) == ["'b'"]
    again = await bench.code("sorted(files)", "cntr_a", "mine")
    assert logs(again) == ["['a']"] and LOST_VARIABLES in str(again.stated)
    assert bench.tools.state("bubblewrap").kernels == 3
    await bench.tools.close()


async def test_many_calls_of_one_tenant_leave_a_slot_for_the_next() -> None:
    bench = Bench(running=3)
    ours = [asyncio.create_task(bench.code("wait()", f"cntr_{n}", "loud")) for n in range(5)]
    await until(lambda: bench.tools.state("").waiting >= 3)

    assert logs(await bench.code("1", "cntr_q", "quiet")) == ["1"]

    for _ in range(5):
        for machine in bench.sandbox.machines:
            machine.gate.set()
        await let_others_run()
    while not all(one.done() for one in ours):
        for machine in bench.sandbox.machines:
            machine.gate.set()
        await let_others_run()
    await bench.tools.close()


async def test_too_many_waiting_calls_are_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("antiphon.tools.code.tool.WAITING", 0)
    bench = Bench(running=1)
    running = await bench.begin("wait()")

    result = await bench.code("1", "cntr_2")

    assert (result.stated, result.is_failed) == (OVERLOADED, True)
    bench.sandbox.machines[0].gate.set()
    await running
    await bench.tools.close()


async def test_files_beyond_the_limits_are_left_out_by_name(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    await bench.code("files['old'] = b'1'")
    monkeypatch.setattr("antiphon.tools.code.tool.MOST_BYTES", 10)
    limited = Bench(bench)

    result = await limited.code(
        "files['a'] = b'12345'; files['b'] = b'1234567'; files['c'] = b'1234'"
    )

    assert bench.store.paths(ID) == [f"/mnt/data/{name}" for name in ("a", "c", "old")]
    assert "The file b was not kept" in str(result.stated)
    await limited.tools.close()


async def test_commands_run_in_order_with_their_outcomes(bench: Bench) -> None:
    result = await bench.shell("a.txt=hello", "exit 3", "sleep 9", max_output_length=3)

    assert result.fields["output"] == [
        {"stdout": "hel", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}},
        {"stdout": "out", "stderr": "err", "outcome": {"type": "exit", "exit_code": 3}},
        {"stdout": "", "stderr": "", "outcome": {"type": "timeout"}},
    ]
    assert not result.is_failed
    assert [one.filename for one in result.files] == ["a.txt"]
    assert "Command 2 ended with exit code 3." in str(result.stated)
    assert len(bench.sandbox.alive) == 1


async def test_a_command_that_ends_the_machine_fails_the_call(bench: Bench) -> None:
    result = await bench.shell("end now", "exit 0")

    assert result.is_failed
    assert [one["outcome"] for one in result.fields["output"]] == [
        {"type": "exit", "exit_code": 137}
    ]
    assert not bench.sandbox.alive


async def test_code_reads_of_variables_that_were_lost_before_a_command(bench: Bench) -> None:
    await bench.code("x = 1")
    other = Bench(bench)

    assert LOST_VARIABLES not in str((await other.shell("exit 0")).stated)
    assert LOST_VARIABLES in str((await other.code("1")).stated)
    await other.tools.close()


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("code_interpreter", {}),
        ("code_interpreter", {"code": ["1"]}),
        ("code_interpreter", {"code": "1" * 2_000_000}),
        ("shell", {"commands": []}),
        ("shell", {"commands": [1]}),
        ("shell", {"commands": ["a\0b"]}),
        ("shell", {"commands": ["ls"] * 51}),
    ],
)
async def test_arguments_that_cannot_be_run_fail_the_call(
    bench: Bench, name: str, arguments: Any
) -> None:
    tool = SHELL if name == "shell" else AUTO
    result = await bench.tools.run(Use(tool, name, arguments, container_id=ID))

    assert result.is_failed and str(result.stated).startswith("The call was not run: ")
    assert not bench.sandbox.machines and not bench.store.containers


async def test_closing_ends_every_machine(bench: Bench) -> None:
    await bench.code("1")
    await bench.code("1", "cntr_2")
    state = bench.tools.state("bubblewrap")
    assert (state.sandbox, state.kernels, state.running, state.memory) == ("bubblewrap", 2, 0, 2048)

    await bench.tools.close()

    assert not bench.sandbox.alive and bench.sandbox.is_closed
    assert CLOSED in str((await bench.code("1")).stated) and not bench.sandbox.alive
