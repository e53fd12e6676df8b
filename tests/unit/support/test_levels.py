"""Which tests of tests/system run when."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from tests.support.levels import of_system


@dataclass(frozen=True)
class Item:
    """What pytest knows of a test."""

    name: str
    marker: str = ""
    path: Path = Path("test_pages.py")

    def get_closest_marker(self, name: str) -> object:
        return name if name == self.marker else None


PLAIN = Item("plain")
NIGHTLY = Item("nightly", "nightly")
ROTATING = [Item(f"rotating {number}", "rotating") for number in range(6)]
OTHERS = [Item(f"other {number}", "rotating", Path("test_others.py")) for number in range(3)]
ITEMS = [PLAIN, *ROTATING, NIGHTLY, *OTHERS]


def names(level: str) -> list[str]:
    return [item.name for item in of_system(cast("Any", ITEMS), level)]


def test_a_run_has_all_that_is_not_marked_and_a_third_of_what_rotates_in_each_file() -> None:
    chosen = names("system")

    assert chosen[0] == "plain"
    assert "nightly" not in chosen
    assert [sum(name.startswith(kind) for name in chosen) for kind in ("rotating", "other")] == [
        2,
        1,
    ]


def test_at_night_run_the_nightly_tests_and_all_that_rotate() -> None:
    assert names("nightly") == [item.name for item in (*ROTATING, NIGHTLY, *OTHERS)]
