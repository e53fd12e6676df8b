"""`antiphon trust-report`: servers that are broken on purpose, on this machine."""

import json
from pathlib import Path

from tests.support.command import antiphon

PATIENCE = 180.0


async def test_a_report_has_what_holds_and_the_command_that_repeats_it(tmp_path: Path) -> None:
    checks = ["--only", "disk", "--only", "backends", "--only", "recovery"]
    done = await antiphon(
        tmp_path,
        *("trust-report", "--minutes", "0.1", "--seed", "5", *checks),
        *("--json", "trust.json", "--html", "trust.html"),
        patience=PATIENCE,
    )

    report = json.loads((tmp_path / "trust.json").read_text())
    assert (done.code, done.err) == (0, "")
    assert {one["check"] for one in report["findings"]} == {"disk", "backends", "recovery"}
    assert {one["outcome"] for one in report["findings"]} == {"holds"}
    assert report["findings"][-2]["figures"]["acknowledged"] > 0
    assert "claims hold</h1>" in (tmp_path / "trust.html").read_text()
    assert "--seed 5 --only disk --only backends --only recovery" in done.out


async def test_an_unknown_check_is_an_error(tmp_path: Path) -> None:
    done = await antiphon(tmp_path, "trust-report", "--only", "luck")

    assert done.code == 2
    assert "There is no check 'luck'" in done.err


async def test_a_store_with_responses_is_left_alone(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/used.db"
    answered = await antiphon(tmp_path, "ask", "Hello", "--store", store)
    done = await antiphon(tmp_path, "trust-report", "--store", store)

    assert answered.code == 0
    assert done.code == 2
    assert "The store has responses" in done.err
