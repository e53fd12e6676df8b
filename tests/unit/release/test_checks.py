"""What prevents a release, and what users then read."""

import pytest
from release.checks import Tree, notes, problems, sections

CHANGELOG = """\
# Changelog

Text.

## Unreleased

## 0.2.0 - 2026-11-28

### Added

- One.

## 0.1.0 - 2026-01-01

- Two.
"""
NEWER = CHANGELOG.replace("## 0.2.0", "## 0.3.0 - 2026-12-01\n\n- Next.\n\n## 0.2.0")


def found(
    version: str = "0.2.0", declared: str = "0.2.0", changelog: str = CHANGELOG, *paths: str
) -> list[str]:
    return list(problems(version, Tree(declared, changelog, paths)))


def test_a_clean_tree_with_its_section_can_be_released() -> None:
    assert found() == []
    assert found(changelog=CHANGELOG.replace("## Unreleased\n\n", "")) == []


def test_a_missing_version_is_reported() -> None:
    assert found("") == ["VERSION is missing: name one, as in `make release VERSION=0.2.0`."]


@pytest.mark.parametrize("version", ["next", "v0.2.0", "0.2.0-rc1", "00.2"])
def test_a_text_that_is_not_a_version_is_rejected_with_an_example(version: str) -> None:
    assert found(version) == [
        f"'{version}' is not a version: name one, as in `make release VERSION=0.2.0`."
    ]


def test_another_version_than_that_of_the_package_is_rejected() -> None:
    assert found(declared="0.1.9") == [
        "src/antiphon/version.py has 0.1.9, not 0.2.0: correct the file, or VERSION."
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("changelog", "problem"),
    [
        (CHANGELOG.replace("Unreleased\n", "Unreleased\n\n- New.\n"), "entries in 'Unreleased'"),
        (CHANGELOG.replace("0.2.0 - 2026-11-28", "0.2.0"), "has no section '## 0.2.0 - YYYY-MM-DD'"),  # noqa: E501 - one text, or a row of a table
        (NEWER, "newest section of CHANGELOG.md is 0.3.0"),
        ("## 0.2.0 - 2026-11-28\n\n## 0.1.0 - 2026-01-01\n\n- Two.\n", "section 0.2.0 of CHANGELOG.md is empty"),  # noqa: E501 - one text, or a row of a table
        ("", "has no section"),
    ],
)  # fmt: skip
def test_a_changelog_that_does_not_describe_the_version_is_rejected(
    changelog: str, problem: str
) -> None:
    (only,) = found(changelog=changelog)
    assert problem in only


def test_files_without_a_commit_are_named_up_to_a_limit() -> None:
    (few,) = found("0.2.0", "0.2.0", CHANGELOG, "a.py", "b.py")
    assert few == "Not committed: a.py, b.py. Commit or remove these files."
    (many,) = found("0.2.0", "0.2.0", CHANGELOG, *(f"{number}.py" for number in range(12)))
    assert "9.py, and 2 more." in many
    assert "10.py" not in many


def test_every_problem_is_reported_at_once() -> None:
    assert len(found("0.2.0", "0.1.9", "", "a.py")) == 3


def test_the_notes_are_the_section_of_the_version() -> None:
    assert notes("0.2.0", sections(CHANGELOG)) == "### Added\n\n- One."
    assert notes("0.1.0", sections(CHANGELOG)) == "- Two."
    assert notes("0.3.0", sections(CHANGELOG)) == ""
