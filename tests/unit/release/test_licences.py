"""The file of licences."""

from release.components import Component
from release.licences import page

LISTED = [
    Component("npm", "a", "3.0", "ISC", ("Text of a.",)),
    Component("pypi", "long-name", "2.0", "MIT"),
    Component("pypi", "one", "1.0", "BSD-3-Clause", ("First.", "Second.")),
]


def test_a_table_precedes_the_texts_and_packages_of_the_console_are_last() -> None:
    table, *texts = page("0.1.0", LISTED).split("=" * 100)
    assert table.splitlines()[2:5] == [
        "long-name 2.0           MIT",
        "one 1.0                 BSD-3-Clause",
        "a 3.0 (in the console)  ISC",
    ]
    assert [text.strip() for text in texts] == [
        "long-name 2.0: MIT",
        "The package contains no text of its licence.",
        "one 1.0: BSD-3-Clause",
        "First.\n\nSecond.",
        "a 3.0 (in the console): ISC",
        "Text of a.",
    ]
