"""The tests that the table of faults names exist."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs/why/decisions-agents.md"


def test_each_row_of_the_table_names_tests_that_exist() -> None:
    folder, missing, count = ROOT / "tests/system/agents", [], 0
    for row in PAGE.read_text().split("## What holds in each fault")[1].splitlines():
        file = folder / "test_kill_at_each_write.py"  # of a row that says "the same"
        for name in re.findall(r"`([\w/]*test_\w+(?:\.py)?)`", row):
            if name.endswith(".py"):
                file = ROOT / name if "/" in name else folder / name
            else:
                count += 1
                if f"def {name}(" not in file.read_text():
                    missing.append((file.name, name))

    assert missing == []
    assert count >= 18
