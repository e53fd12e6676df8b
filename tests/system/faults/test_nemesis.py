"""Nothing that was acknowledged is lost, whatever dies: `make test-faults` for long, a short run in
`make test-system`.

`ANTIPHON_NEMESIS_SECONDS` says for how long, `ANTIPHON_SEED` chooses what is done when.
"""

import os
from pathlib import Path

import pytest

from tests.support.chance import SEED
from tests.support.postgres import running
from tests.system.faults.nemesis import torment

SECONDS = float(os.environ.get("ANTIPHON_NEMESIS_SECONDS", "8"))


@pytest.mark.timeout(SECONDS * 2 + 240)
async def test_two_servers_on_postgresql_lose_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with running() as postgres:  # its own: others' tests are not to be disturbed
        verdict = await torment(
            tmp_path, await postgres.database(), SECONDS, SEED, postgres=postgres
        )
    _show(verdict.figures, capsys)

    assert not verdict.broken, "\n".join([f"seed {SEED}", *verdict.broken])


@pytest.mark.timeout(SECONDS * 2 + 240)
@pytest.mark.parametrize("count", [pytest.param(1, marks=pytest.mark.nightly), 2])
async def test_servers_on_sqlite_lose_nothing(
    tmp_path: Path, count: int, capsys: pytest.CaptureFixture[str]
) -> None:
    verdict = await torment(
        tmp_path, f"sqlite://{tmp_path}/antiphon.db", SECONDS, SEED, count=count
    )
    _show(verdict.figures, capsys)

    assert not verdict.broken, "\n".join([f"seed {SEED}", *verdict.broken])


def _show(figures: str, capsys: pytest.CaptureFixture[str]) -> None:
    with capsys.disabled():
        print(f"\n{figures}")
