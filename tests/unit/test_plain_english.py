"""The language check reads what people read, and nothing else."""

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SPEC = importlib.util.spec_from_file_location(
    "plain_english", ROOT / "scripts" / "plain_english.py"
)
assert SPEC is not None and SPEC.loader is not None
plain_english = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(plain_english)


def found(path: Path, text: str) -> list[tuple[int, str]]:
    path.write_text(text)
    return [(line, words) for line, words, _ in plain_english.findings(path)]


@pytest.mark.parametrize(
    ("name", "text", "places"),
    [
        ("prose.md", "# Title\n\nWhoever asks is told.\n", [(3, "Whoever"), (3, "told")]),
        ("code.md", "`told` and\n```sh\necho told\n```\nand [here](told.md)\n", []),
        ("after_code.md", "```sh\nls\n```\n\nIt goes on.\n", [(5, "goes on")]),
        ("warning.md", "```{warning}\nIt is gone.\n```\n", [(2, "is gone")]),
        ("comment.py", "told = 1  # told\n", [(1, "told")]),
        (
            "docstring.py",
            'def f():\n    """Return the item.\n\n    None where there is none.\n    """\n',
            [(4, "there is none")],
        ),
        ("doctest.py", '"""Example.\n\n>>> asked = 1\n`asked`\n"""\n', []),
        ("formatted.py", 'text = f"{asked} of {whose}"\n', []),
        ("identifier.py", 'requirement = "background:told"\n', []),
        ("bytes.py", 'frame = b"told"\n', []),
        (
            "page.tsx",
            'const asked = 1; // told\nreturn <p title="whose">by nobody</p>;\n',
            [(1, "told"), (2, "whose"), (2, "nobody")],
        ),
        ("wrapped.md", "The item is\ngone now.\n", [(1, "is gone")]),
        (
            "wrapped.py",
            '# The item\ntext = "It comes "\nmore = "back later"\n',
            [(2, "comes back")],
        ),
        ("story.py", 'prompt = "Tell me a story."\n', []),
    ],
)
def test_only_what_people_read_is_checked(
    tmp_path: Path, name: str, text: str, places: list[tuple[int, str]]
) -> None:
    assert sorted(found(tmp_path / name, text)) == sorted(places)


def test_each_pattern_has_a_better_wording() -> None:
    assert all(plain_english.PATTERNS.values())
