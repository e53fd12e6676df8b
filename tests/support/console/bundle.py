"""The console's builder, `console/build.py`, as tests use it."""

import runpy
import subprocess
from functools import cache
from pathlib import Path

import pytest

CONSOLE = Path(__file__).parents[3] / "console"
BUILDER = runpy.run_path(str(CONSOLE / "build.py"))
AXE = CONSOLE / "node_modules/axe-core/axe.min.js"


@cache  # to compare every source with the bundle takes a tenth of a second
def perform(action: str) -> None:
    """Perform an action of the builder, once; skip the test where Node.js or npm's registry is
    missing.
    """
    try:
        BUILDER["ACTIONS"][action]()
    except BUILDER["MissingError"] as error:
        pytest.skip(f"MISSING PROGRAM: {error}")
    except subprocess.CalledProcessError as error:
        pytest.fail(error.stdout, pytrace=False)
