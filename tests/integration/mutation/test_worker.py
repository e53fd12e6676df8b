"""The process that runs tests on mutants."""

import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from mutation.worker import FAILED, Order, Outcome

ENDLESS = """
import asyncio

async def spin():
    while True:
        pass

async def keep_on(times):
    for _ in range(times):
        await asyncio.gather(asyncio.create_task(spin()), return_exceptions=True)

def test_that_never_ends():
    asyncio.run(keep_on(1000))
"""


@pytest.mark.wide
def test_a_test_that_never_pauses_ends_at_its_own_limit(tmp_path: Path) -> None:
    (tmp_path / "code.py").write_text("", "utf-8")
    (tmp_path / "test_code.py").write_text(ENDLESS, "utf-8")
    order = Order("code.py", "", ["test_code.py::test_that_never_ends"], test_limit=0.2, limit=20.0)
    ran = subprocess.run(
        (sys.executable, "-m", "mutation.worker"),
        cwd=tmp_path,
        env={"PYTHONPATH": str(Path(__file__).parents[3])},
        input=msgspec.json.encode(order) + b"\n",
        capture_output=True,
        check=True,
    )
    assert msgspec.json.decode(ran.stdout, type=Outcome).code == FAILED
