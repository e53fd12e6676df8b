"""The check of names finds words that are not the field's in what code defines, and nowhere
else.
"""

import importlib.util
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SPEC = importlib.util.spec_from_file_location("plain_names", ROOT / "scripts" / "plain_names.py")
assert SPEC is not None and SPEC.loader is not None
plain_names = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(plain_names)


def found(path: Path, text: str) -> list[tuple[int, str, str]]:
    path.write_text(text)
    return sorted(plain_names.findings(path))


@pytest.mark.parametrize(
    ("name", "text", "places"),
    [
        ("function.py", "def tell() -> None: ...\n", [(1, "tell", "tell")]),
        (
            "class.py",
            "class KeptAnswer:\n    was_held: bool\n",
            [(1, "KeptAnswer", "kept"), (2, "was_held", "held")],
        ),
        (
            "parameter.py",
            "def send(*asked, **said): ...\n",
            [(1, "asked", "asked"), (1, "said", "said")],
        ),
        ("lambda.py", "key = lambda given: given\n", [(1, "given", "given")]),
        (
            "local.py",
            "for made in []:\n    with x as (shown, y):\n        pass\n",
            [(1, "made", "made"), (2, "shown", "shown")],
        ),
        ("attribute.py", "self._told = 1\n", [(1, "_told", "told")]),
        ("camel.py", "class WasKept: ...\n", [(1, "WasKept", "kept")]),
        ("constant.py", "LOOK_EVERY = 1\n", [(1, "LOOK_EVERY", "look")]),
        ("error.py", "try: ...\nexcept E as gone: ...\n", [(2, "gone", "gone")]),
        ("pattern.py", "match x:\n    case [*told]: ...\n", [(2, "told", "told")]),
        ("alias.py", "from a import b as house\n", [(1, "house", "house")]),
        ("kept_texts.py", "", [(1, "kept_texts", "kept")]),
        (
            "test_x.py",
            "def test_nobody_is_told(): ...\n",
            [(1, "test_nobody_is_told", "nobody"), (1, "test_nobody_is_told", "told")],
        ),
        (
            "test_y.py",
            "def test_a_key_that_is_none(): ...\n",
            [(1, "test_a_key_that_is_none", "is none")],
        ),
        ("once.py", "told = 1\ntold = 2\n", [(1, "told", "told")]),
        ("use.py", "print(told, x.asked, given=1)\n", []),
        ("prose.py", '"""Told."""  # told\ntext = "told"\n', []),
        ("good.py", "class StoredAnswer:\n    def report(self, requested: int) -> None: ...\n", []),
        ("part.py", "unmade = holder = spoken = handmade = lookup = 1\n", []),
        ("own.py", "class P:\n    def connection_made(self, keep_alive): ...\n", []),
        ("test_z.py", "def test_streams_keep_their_order(): ...\n", []),
        (
            "page.tsx",
            "// const told = 1\nconst { shown, kept: stored } = x;\nfunction ask() {}\nlet "
            "good = given;\n",
            [(2, "shown", "shown"), (3, "ask", "ask")],
        ),
        (
            "view.ts",
            "export const isShown = said;\ntype Told = 1;\n",
            [(1, "isShown", "shown"), (2, "Told", "told")],
        ),
    ],
)
def test_only_names_that_code_defines_are_checked(
    tmp_path: Path, name: str, text: str, places: list[tuple[int, str, str]]
) -> None:
    assert found(tmp_path / name, text) == sorted(places)


def test_a_finding_has_its_place_its_word_and_better_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.py").write_text("x = 1\ntold = 2\n")
    monkeypatch.setattr(plain_names, "ROOT", tmp_path)
    monkeypatch.setattr(plain_names, "files", lambda _: [tmp_path / "a.py"])
    monkeypatch.setattr(sys, "argv", ["plain_names.py"])

    assert plain_names.main() == 1
    assert capsys.readouterr().out == "a.py:2: told: 'told' -> reported, sent, notified, received\n"


def test_each_word_has_better_ones_and_each_exception_a_reason() -> None:
    assert all([*plain_names.WORDS.values(), *plain_names.SEQUENCES.values()])
    assert all([*plain_names.ALLOWED.values(), *plain_names.ALLOWED_STARTS.values()])
    for suggestions in plain_names.WORDS.values():
        assert not set(plain_names.SPLIT.findall(suggestions)) & set(plain_names.WORDS), suggestions
