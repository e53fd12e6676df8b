"""Nothing that was acknowledged is lost, whatever dies: `make test-faults` for long, a short run in `make test`.

`ANTIPHON_NEMESIS_SECONDS` says for how long, `ANTIPHON_NEMESIS_SEED` repeats a run's choices.
"""

import os
import random
from pathlib import Path

import pytest

from tests.faults.nemesis import torment
from tests.support.postgres import running

SECONDS = float(os.environ.get("ANTIPHON_NEMESIS_SECONDS", "8"))
SEED = int(os.environ.get("ANTIPHON_NEMESIS_SEED", "0")) or random.SystemRandom().randrange(1, 10**6)


@pytest.mark.timeout(SECONDS * 2 + 240)
async def test_two_servers_on_postgresql_lose_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with running() as postgres:  # its own: others' tests are not to be disturbed
        verdict = await torment(tmp_path, await postgres.database(), SECONDS, SEED, postgres=postgres)
    _show(verdict.figures, capsys)

    assert verdict.broken == [], f"seed {SEED}"


@pytest.mark.timeout(SECONDS * 2 + 240)
@pytest.mark.parametrize("count", [1, 2])
async def test_servers_on_sqlite_lose_nothing(tmp_path: Path, count: int, capsys: pytest.CaptureFixture[str]) -> None:
    verdict = await torment(tmp_path, f"sqlite://{tmp_path}/antiphon.db", SECONDS, SEED, count=count)
    _show(verdict.figures, capsys)

    assert verdict.broken == [], f"seed {SEED}"


def _show(figures: str, capsys: pytest.CaptureFixture[str]) -> None:
    with capsys.disabled():
        print(f"\n{figures}")
