"""The names of files in a container."""

import pytest

from antiphon.storage.records import StoredFile
from antiphon.tools.code.files import path_of


def named(filename: str) -> str:
    return path_of(StoredFile("file-1", "", filename, "user_data", 1, b"", "row:1", 1, None))


@pytest.mark.parametrize(
    ("filename", "path"),
    [
        ("data.csv", "/mnt/data/file-1-data.csv"),
        ("a/../../etc/passwd", "/mnt/data/file-1-a_.._.._etc_passwd"),
        ("Übersicht 1.xlsx", "/mnt/data/file-1-Übersicht 1.xlsx"),
    ],
)
def test_a_file_keeps_its_name_behind_its_id(filename: str, path: str) -> None:
    assert named(filename) == path


def test_a_long_name_is_cut_before_its_extension() -> None:
    name = named("ä" * 300 + ".csv").removeprefix("/mnt/data/")

    assert len(name.encode()) in (254, 255)
    assert name.startswith("file-1-ä") and name.endswith("ä.csv")
