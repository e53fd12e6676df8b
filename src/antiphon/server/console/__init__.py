"""The console's pages: where their bundle is, and whether it was built."""

from pathlib import Path

STATIC = Path(__file__).parent / "static"
"""Where the build of the console puts its files: `index.html`, and `assets` with a hash in each
name.
"""


def is_built() -> bool:
    """Whether the bundle exists."""
    return (STATIC / "index.html").is_file()
