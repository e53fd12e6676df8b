"""Machines of bubblewrap keep the contract, and run code as a notebook does."""

import asyncio
import os
import sys
import venv
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from antiphon.sandbox import watch
from antiphon.sandbox.bubblewrap import Bubblewrap
from antiphon.sandbox.contract import Machine, SandboxError
from antiphon.testing import check_sandbox
from tests.support.sandboxes import LIMITS, PATIENCE, machine_of, run, value, why_not
from tests.support.waiting import let_others_run, until

PYPLOT = """
import io
figures, drawn = {}, []
def figure(number):
    figures.setdefault(number, [])
    return Figure(number)
def get_fignums(): return sorted(figures)
def close(which): figures.clear()
def plot(what): figures.setdefault(1, []).append(what)
def show(): raise RuntimeError("the backend cannot show")
class Figure:
    def __init__(self, number): self.number = number
    def savefig(self, file, **options): file.write(b"\\x89PNG\\r\\n\\x1a\\n" + repr(figures[self.number]).encode())
"""  # noqa: E501 - the lines of a text


@pytest.fixture(scope="module", autouse=True)
def bubblewrap() -> None:
    if problem := why_not():
        pytest.skip(problem)


@pytest.fixture
async def machine() -> AsyncIterator[Machine]:
    async with machine_of() as one:
        yield one


async def test_it_keeps_the_contract() -> None:
    await check_sandbox(Bubblewrap())


async def test_printed_and_errors_keep_their_order(machine: Machine) -> None:
    code = (
        "import os, sys\nprint(1)\nsys.stderr.write('2\\n')\nos.system('echo 3; "
        "echo 4 >&2')\nprint(5)"
    )
    assert (await run(machine, code)).printed == "1\n2\n3\n4\n5\n"


async def test_a_traceback_shows_the_code_alone(machine: Machine) -> None:
    printed = (await run(machine, "def f():\n    raise KeyError('x')\n\nf()")).printed
    assert "raise KeyError('x')" in printed
    assert "kernel.py" not in printed
    assert (await run(machine, "def (")).printed.splitlines()[0] == '  File "<cell 2>", line 1'


@pytest.mark.parametrize(
    ("code", "displayed"),
    [
        ("await __import__('asyncio').sleep(0, 'awaited')", "'awaited'"),
        ("1;", ""),
        ("x = 5\nx", "5"),
        ("import __main__; __main__.__name__", "'__main__'"),
        ("__name__", "'__main__'"),
        ("import os; os.getcwd()", "'/mnt/data'"),
        ("input", "<built-in function input>"),
    ],
)
async def test_values_as_in_a_notebook(machine: Machine, code: str, displayed: str) -> None:
    assert await value(machine, code) == displayed


@pytest.mark.parametrize(
    "code", ["raise SystemExit(2)", "exit()", "input()", "raise KeyboardInterrupt"]
)
async def test_code_cannot_leave_the_notebook(machine: Machine, code: str) -> None:
    assert (await run(machine, code)).ending == "completed"
    assert await value(machine, "1") == "1"


async def test_lines_of_notebooks_that_are_no_python(machine: Machine) -> None:
    result = await run(machine, "%matplotlib inline\nfor n in range(2):\n    !echo $((1 + 1))")
    assert (result.printed, result.value, result.ending) == ("2\n2\n", "", "completed")
    assert "SyntaxError" in (await run(machine, "%time\ndef (")).printed


async def test_display_shows_objects(machine: Machine) -> None:
    assert (await run(machine, "display('a', 1)")).printed == "'a'\n1\n"


async def test_a_child_of_the_code_ends_with_its_cell(machine: Machine) -> None:
    result = await run(
        machine, "import os\nprint('parent' if os.fork() and os.wait() else 'child')"
    )
    assert sorted(result.printed.split()) == ["child", "parent"]
    assert await value(machine, "1") == "1"


async def test_processes_of_a_pool_run_functions_of_the_code(machine: Machine) -> None:
    code = """
import multiprocessing
def double(x): return 2 * x
with multiprocessing.get_context("fork").Pool(2) as pool:
    doubled = pool.map(double, [1, 2])
doubled"""
    assert await value(machine, code) == "[2, 4]"


async def test_the_first_list_of_fonts_is_not_mentioned(machine: Machine) -> None:
    module = """
import logging
log = logging.getLogger("matplotlib.font_manager")
log.warning("Matplotlib is building the font cache; this may take a moment.")
log.warning("findfont: Font family 'Arial' not found.")
get_fignums = list
close = print
"""
    code = (
        f"import os\nos.makedirs('matplotlib')\nopen('matplotlib/pyplot.py', 'w').write({module!r})"
    )
    await run(machine, code)
    result = await run(machine, "import matplotlib.pyplot")
    assert result.printed == "findfont: Font family 'Arial' not found.\nall\n"


async def test_every_rendered_figure_is_a_separate_image(machine: Machine) -> None:
    await run(
        machine,
        f"import os\nos.makedirs('matplotlib')\nopen('matplotlib/pyplot.py', 'w').write({PYPLOT!r})",  # noqa: E501 - one text, or a row of a table
    )
    code = (
        "import matplotlib.pyplot as "
        "plt\nplt.plot('a')\nplt.show()\nplt.plot('b')\nplt.show()\nplt.plot('c')"
    )
    result = await run(machine, code)
    assert [figure[8:] for figure in result.figures] == [b"['a']", b"['b']", b"['c']"]
    assert (await run(machine, "1")).figures == []
    failed = await run(machine, "plt.plot('d')\n1 / 0")
    assert [figure[8:] for figure in failed.figures] == [b"['d']"]
    assert "ZeroDivisionError" in failed.printed
    displayed = await run(machine, "plt.plot('e')\ndisplay(plt.figure(1))")
    assert [figure[8:] for figure in displayed.figures] == [b"['e']"]


async def test_modules_in_the_data_directory_are_found_after_those_of_the_library(
    machine: Machine,
) -> None:
    await run(machine, "open('own.py', 'w').write('x = 7')\nopen('random.py', 'w').write('broken')")
    assert await value(machine, "import own, random; own.x") == "7"


@pytest.mark.parametrize(
    ("command", "stdout", "code"),
    [
        ("echo $0 $PWD", "/bin/sh /mnt/data\n", 0),
        ("kill -9 $$", "", 137),
        ("sleep 100 & echo started", "started\n", 0),
        ("exec >&- 2>&-; exit 4", "", 4),
        ("printf 'a\\377b'", "a\N{REPLACEMENT CHARACTER}b", 0),
        ("cat", "", 0),
    ],
)
async def test_commands(machine: Machine, command: str, stdout: str, code: int) -> None:
    result = await machine.run_command(command, PATIENCE, 1000)
    assert (result.stdout, result.exit_code, result.ending) == (stdout, code, "completed")


async def test_a_cancelled_call_ends_the_machine(machine: Machine) -> None:
    call = asyncio.create_task(run(machine, "import time; time.sleep(1000)"))
    await let_others_run()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert not machine.is_alive


async def test_nothing_stays_open(machine: Machine) -> None:
    before = set(os.listdir("/proc/self/fd"))  # noqa: PTH208
    async with machine_of() as other:
        assert await value(other, "1") == "1"
    assert set(os.listdir("/proc/self/fd")) <= before  # noqa: PTH208


async def test_memory_is_counted(machine: Machine) -> None:
    await run(machine, "held = bytearray(50_000_000)")
    await until(lambda: machine.memory() >= 50000000)
    assert machine.memory() < LIMITS.memory


async def test_packages_of_an_environment_are_found(tmp_path: Path) -> None:
    venv.create(tmp_path / "environment", symlinks=True)
    place = next((tmp_path / "environment").glob("lib/python*/site-packages"))
    (place / "own_package.py").write_text("x = 'from the environment'")
    link = tmp_path / "link"
    link.symlink_to("environment/bin/python")
    for python in (tmp_path / "environment/bin/python", link):
        async with machine_of(python=str(python)) as machine:
            if python != link:
                assert (
                    await value(machine, "import own_package; own_package.x")
                    == "'from the environment'"
                )
            assert await value(machine, "import sys; sys.version") == repr(sys.version)


@pytest.mark.parametrize(
    ("arguments", "cure"),
    [
        ({"program": "no-such-bwrap"}, "apt-get install bubblewrap"),
        ({"python": "/no/such/python"}, "code_python"),
        ({"program": "false"}, "Cannot start a machine"),
        ({"program": "true"}, "Cannot start a machine"),
    ],
)
async def test_an_unusable_sandbox_has_its_reason(arguments: dict[str, str], cure: str) -> None:
    sandbox = Bubblewrap(**arguments)
    assert cure in await sandbox.probe()
    with pytest.raises(SandboxError, match=cure):
        await sandbox.start(LIMITS)
    await sandbox.close()


async def test_the_memory_of_a_machine_is_counted_as_soon_as_a_call_begins(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(watch, "PAUSE", 3600.0)
    async with machine_of() as machine:
        call = asyncio.create_task(run(machine, "import time; time.sleep(1000)"))
        await until(machine.memory)
        call.cancel()
        await asyncio.wait({call})
