"""The paths of the console's pages, as its navigation has them."""

import re
from pathlib import Path

_FILE = Path(__file__).parents[3] / "console/src/pages/routes.ts"

ROUTES = re.findall(r'^    path: "(\w*)",$', _FILE.read_text("utf-8"), re.MULTILINE)
"""The paths below `/console/`: empty for the list of responses."""
