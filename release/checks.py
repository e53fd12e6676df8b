"""What must be true before a release is built."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from packaging.version import InvalidVersion, Version

HEADING = re.compile(r"^## (.+)$", re.MULTILINE)
UNRELEASED = "Unreleased"
TITLE = re.compile(r"(?P<version>\S+) - \d{4}-\d{2}-\d{2}")
MOST_NAMED = 10


@dataclass(frozen=True, slots=True)
class Tree:
    """What a release reads of the repository."""

    declared: str
    """The version in src/antiphon/version.py."""
    changelog: str
    uncommitted: Sequence[str]
    """Paths of files that no commit has, or that differ from the last one."""


def problems(version: str, tree: Tree) -> Iterator[str]:
    """Yield why this version cannot be released, each with what to do."""
    if not is_version(version):
        wrong = f"'{version}' is not a version" if version else "VERSION is missing"
        yield f"{wrong}: name one, as in `make release VERSION={tree.declared}`."
        return
    if version != tree.declared:
        yield (
            f"src/antiphon/version.py has {tree.declared}, not {version}: "
            "correct the file, or VERSION."
        )
    yield from _problems_of_changelog(version, sections(tree.changelog))
    if tree.uncommitted:
        named = ", ".join(tree.uncommitted[:MOST_NAMED])
        more = len(tree.uncommitted) - MOST_NAMED
        yield (
            f"Not committed: {named}{f', and {more} more' if more > 0 else ''}. "
            "Commit or remove these files."
        )


def _problems_of_changelog(version: str, found: dict[str, str]) -> Iterator[str]:
    if found.get(UNRELEASED):
        yield (
            f"CHANGELOG.md has entries in '{UNRELEASED}': move them to the section '## "
            f"{version} - YYYY-MM-DD'."
        )
    released = [match["version"] for title in found if (match := TITLE.fullmatch(title))]
    if version not in released:
        yield (
            f"CHANGELOG.md has no section '## {version} - YYYY-MM-DD': add it, with what users "
            "must know."
        )
    elif released[0] != version:
        yield (
            f"The newest section of CHANGELOG.md is {released[0]}, not {version}: "
            f"put the section of {version} first."
        )
    elif not notes(version, found):
        yield f"The section {version} of CHANGELOG.md is empty: write what users must know."


def is_version(text: str) -> bool:
    """Whether a text is a version as packages spell it: `0.1.0`, `1.0.0rc1`."""
    try:
        return str(Version(text)) == text
    except InvalidVersion:
        return False


def sections(changelog: str) -> dict[str, str]:
    """Return title -> text of each section `## …`, in their order."""
    _, *parts = HEADING.split(changelog)
    return {
        title.strip(): text.strip() for title, text in zip(parts[::2], parts[1::2], strict=True)
    }


def notes(version: str, found: dict[str, str]) -> str:
    """Return the text of a version's section, empty if there is no such section."""
    titles = (
        title
        for title in found
        if (match := TITLE.fullmatch(title)) and match["version"] == version
    )
    return next((found[title] for title in titles), "")
