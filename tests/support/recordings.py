"""Real backends' answers, where they are at hand. They belong to other projects and are never
copied into this one.
"""

import os
from pathlib import Path

ALONGSIDE = Path(__file__).parents[2].parent / "shared" / "recordings"

FOLDER = Path(os.environ.get("ANTIPHON_RECORDINGS") or ALONGSIDE)

MISSING = (
    "no recordings of real backends, which are not part of this repository; to run these tests, "
    "set ANTIPHON_RECORDINGS to a folder with chat/ and responses/, beside a folder clients/"
)


def recorded(pattern: str, api: str = "chat") -> list[Path]:
    """The recordings of backends' answers that match, requests and read boundaries left out; none
    without a folder.

    `api` is the one that they speak: `chat` or `responses`.
    """
    paths = sorted((FOLDER / api).glob(pattern))
    return [path for path in paths if not path.name.endswith((".request.json", ".splits.json"))]
