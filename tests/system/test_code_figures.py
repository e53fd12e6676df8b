"""`make code-figures` traces a request, in a process that nothing else has touched."""

import re
import subprocess
import sys
from pathlib import Path


def test_the_last_figure_is_how_many_files_and_functions_a_request_passes() -> None:
    command = [sys.executable, "-m", "bench.code"]
    printed = subprocess.run(
        command,
        cwd=Path(__file__).parents[2],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=120,
    ).stdout
    found = re.search(
        r"GET /v1/files/\{id\} passes (\d+) files and (\d+) functions$", printed.rstrip()
    )
    assert found
    assert 0 < int(found[1]) < int(found[2])
