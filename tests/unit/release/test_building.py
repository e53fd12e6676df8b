"""What counts as a difference between two builds."""

import io
import tarfile
from pathlib import Path
from zipfile import ZIP_STORED, ZipFile, ZipInfo

from release.building import differences

NOON = (2026, 1, 1, 12, 0, 0)
LATER = (2026, 1, 1, 12, 0, 2)


def wheel(
    path: Path,
    members: dict[str, str],
    time: tuple[int, int, int, int, int, int] = NOON,
    **how: int,
) -> Path:
    path.parent.mkdir(exist_ok=True)
    with ZipFile(path, "w", **how) as archive:
        for name, text in members.items():
            archive.writestr(ZipInfo(name, time), text)
    return path


def sdist(path: Path, mode: int) -> Path:
    path.parent.mkdir(exist_ok=True)
    with tarfile.open(path, "w") as archive:
        member = tarfile.TarInfo("a")
        member.size = 1
        member.mode = mode
        archive.addfile(member, io.BytesIO(b"x"))
    return path


def test_equal_archives_have_no_differences(tmp_path: Path) -> None:
    one = wheel(tmp_path / "one/a.whl", {"a": "x"})
    assert list(differences(one, wheel(tmp_path / "two/a.whl", {"a": "x"}))) == []


def test_members_with_another_content_or_time_or_in_one_archive_only_are_named(
    tmp_path: Path,
) -> None:
    one = wheel(tmp_path / "one/a.whl", {"a": "x", "b": "y"})
    assert list(differences(one, wheel(tmp_path / "two/a.whl", {"a": "z", "b": "y", "c": ""}))) == [
        "a.whl:a",
        "a.whl:c",
    ]
    assert list(differences(one, wheel(tmp_path / "three/a.whl", {"a": "x", "b": "y"}, LATER))) == [
        "a.whl:a",
        "a.whl:b",
    ]


def test_members_with_other_permissions_are_named(tmp_path: Path) -> None:
    one = sdist(tmp_path / "one/a.tar", 0o644)
    assert list(differences(one, sdist(tmp_path / "two/a.tar", 0o600))) == ["a.tar:a"]


def test_an_archive_with_equal_members_in_another_order_is_named_itself(tmp_path: Path) -> None:
    one = wheel(tmp_path / "one/a.whl", {"a": "x", "b": "y"}, compression=ZIP_STORED)
    assert list(differences(one, wheel(tmp_path / "two/a.whl", {"b": "y", "a": "x"}))) == ["a.whl"]
