"""The remote sandbox keeps the contract, and trusts its service no more than a machine."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from antiphon.sandbox.contract import MachineLimits, SandboxError
from antiphon.sandbox.e2b import E2B
from antiphon.testing import check_sandbox
from tests.support.e2b import KEY, FakeE2B
from tests.support.sandboxes import MEGABYTE, content, forget_peak, memory

LIMITS = MachineLimits(memory=MEGABYTE, output=1000)
PNG = "iVBORw0KGgo="


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[FakeE2B]:
    async with FakeE2B(tmp_path).serve() as fake:
        yield fake


@pytest.fixture
async def sandbox(service: FakeE2B) -> AsyncIterator[E2B]:
    remote = E2B(service.url, KEY)
    yield remote
    await remote.close()


@pytest.mark.wide
async def test_it_keeps_the_contract(service: FakeE2B) -> None:
    await check_sandbox(E2B(service.url, KEY, "template"))
    assert service.boxes == {}
    assert service.created[0] == {
        "templateID": "template",
        "timeout": 1800,
        "secure": True,
        "allow_internet_access": False,
    }


async def test_figures_and_values_come_from_results(service: FakeE2B, sandbox: E2B) -> None:
    service.lines = [
        b'{"type": "stdout", "text": "a", "unknown": [1]}\n\n',
        b'{"type": "result", "png": "%s", "text": "<Figure>", "is_main_result": false}\n'
        % PNG.encode(),
        b'{"type": "result", "png": "bm8gaW1hZ2U=", "text": "value", "is_main_result": true}\n',
        b'{"type": "stderr", "text": "b"}\n{"type": "end_of_execution"}',
    ]
    machine = await sandbox.start(LIMITS)
    result = await machine.run_code("", 10)
    assert (result.printed, result.value, result.ending) == ("ab", "value", "completed")
    assert result.figures == (b"\x89PNG\r\n\x1a\n",)


@pytest.mark.wide
@pytest.mark.parametrize(
    "line",
    [
        b"no json\n",
        b"[]\n",
        b'{"type": 1}\n',
        b"[" * 1_000_000 + b"\n",
        b"x" * 30_000_000,
        b'{"type": "unexpected_end_of_execution"}\n',
    ],
)
async def test_an_invalid_line_loses_the_machine(
    service: FakeE2B, sandbox: E2B, line: bytes
) -> None:
    machine = await sandbox.start(LIMITS)
    service.lines = [line]
    assert (await machine.run_code("", 10)).ending == "lost"
    assert not machine.is_alive
    with pytest.raises(SandboxError, match="lost"):
        await machine.run_code("", 10)


@pytest.mark.wide
async def test_endless_lines_are_cut(service: FakeE2B, sandbox: E2B) -> None:
    machine = await sandbox.start(LIMITS)
    service.lines = [b'{"type": "stdout", "text": "%s"}\n' % (b"x" * 100_000)] * 2_000
    forget_peak()
    before = memory("VmRSS")
    assert len((await machine.run_code("", 60)).printed) < 1100
    assert memory("VmHWM") - before < 100 * MEGABYTE


async def test_a_sandbox_that_ended_is_lost(service: FakeE2B, sandbox: E2B) -> None:
    machine = await sandbox.start(LIMITS)
    service.boxes.clear()
    assert (await machine.run_command("true", 10, 100)).ending == "lost"
    with pytest.raises(SandboxError, match="502"):
        await machine.files()
    with pytest.raises(SandboxError, match="502"):
        await content(machine, "a")


async def test_links_are_no_files(service: FakeE2B, sandbox: E2B) -> None:
    machine = await sandbox.start(LIMITS)
    await machine.run_command("ln -s /etc/passwd link; echo 1 > real", 10, 100)
    assert [file.name for file in await machine.files()] == ["real"]


async def test_probe_names_the_cure(service: FakeE2B) -> None:
    for remote, cure in (
        (E2B(service.url, "wrong"), "code_e2b_key_env"),
        (
            E2B("http://127.0.0.1:1", KEY),
            "http://127.0.0.1:1 is unreachable: connection refused. Check `code_e2b_url`",
        ),
    ):
        assert cure in await remote.probe()
        await remote.close()
