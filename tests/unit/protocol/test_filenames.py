"""Names of files as they are stored."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.protocol.filenames import LONGEST_NAME, clean_filename
from tests.support.chance import examples


@pytest.mark.parametrize(
    ("name", "stored"),
    [
        ("report.pdf", "report.pdf"),
        ("../../etc/passwd", "passwd"),
        ("C:\\temp\\a b.txt", "a b.txt"),
        ("/", ""),
        ("..", ""),
        ("...", ""),
        ("", ""),
        (" \t\n", ""),
        ("a\r\nX: y\0.txt", "aX: y.txt"),
        ("txt.\u202eexe.pdf", "txt.exe.pdf"),
        ("\ud800a", "a"),
        ("日本語.md", "日本語.md"),
        (".env", ".env"),
        ("x" * 300 + ".tar", "x" * 251 + ".tar"),
        ("é" * 200 + ".txt", "é" * 125 + ".txt"),
        ("a." + "y" * 300, ("a." + "y" * 300)[:255]),
    ],
)
def test_a_name_is_one_component_without_control_characters(name: str, stored: str) -> None:
    assert clean_filename(name) == stored


@examples(200)
@given(st.text(max_size=400))
def test_a_stored_name_is_short_and_unchanged(name: str) -> None:
    stored = clean_filename(name)
    assert len(stored.encode()) <= LONGEST_NAME
    assert not set(stored) & set("/\\\0\r\n")
    assert clean_filename(stored) == stored
