"""Which code `demo` runs, and how it reports what came of it."""

import json
import time

import pytest

from antiphon.upstream.demo.code import code_for, reported

PYTHON = {"python": {"type": "object", "properties": {"code": {"type": "string"}}}}


def codes_of(text: str) -> list[str]:
    return [json.loads(arguments)["code"] for _, arguments in code_for(text, PYTHON)]


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("Run: print(1 + 1)", ["print(1 + 1)"]),
        ("Try this:\n```python\nx = 1\nprint(x)\n```\nThanks.", ["x = 1\nprint(x)"]),
        ("```python\na\n```\nthen\n```python\nb\n```\nRun: c", ["a", "b", "c"]),
        ("```\nno language\n```", []),
        ("```python\nnever closed", []),
        ("I run: nothing", []),
    ],
)
def test_blocks_of_python_and_lines_that_begin_with_run_are_run(
    text: str, codes: list[str]
) -> None:
    assert codes_of(text) == codes


def test_nothing_is_run_without_the_tool() -> None:
    assert code_for("Run: 1", {"python": {"type": "object", "properties": {"script": {}}}}) == []


OUTPUT = """What stands between the two marks was printed by code.
[code output 0f]
1
2
[end of code output 0f]
New and changed files: /mnt/data/a.txt, /mnt/data/b.csv.
To give the user a file, write a Markdown link."""


def test_an_answer_reports_what_was_printed_and_links_to_the_files() -> None:
    assert reported([OUTPUT]) == (
        "The code printed: 1\n2\n\nIt made [a.txt](sandbox:/mnt/data/a.txt) and "
        "[b.csv](sandbox:/mnt/data/b.csv)."
    )


def test_an_output_of_another_tool_is_not_reported_as_code() -> None:
    assert reported(["The weather is fine."]) == ""


@pytest.mark.wide
@pytest.mark.parametrize(
    "text", ["```python\n" * 200_000, "Run: " * 400_000, "```python " * 200_000, "x" * 2_000_000]
)
def test_a_long_text_takes_time_that_grows_with_its_length(text: str) -> None:
    begun = time.process_time()
    code_for(text, PYTHON)
    reported([text])
    assert time.process_time() - begun < 2
