from pathlib import Path

import crash
import pytest
from refund_app import refunds

from antiphon.testing.agents import AgentHarness


@pytest.fixture(autouse=True)
def no_power_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    crash.CRASHED.touch()


def test_a_refund_is_made_once_wherever_the_process_dies() -> None:
    found = AgentHarness(refunds).kill_everywhere("Refund order 17", answers={"refund": True})

    assert found.differing == []
    assert found.executions["refund/0"] == 1
