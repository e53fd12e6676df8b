"""A server that runs no code loads nothing for it."""

import subprocess
import sys

import pytest


@pytest.mark.wide
def test_a_server_without_code_loads_nothing_of_it() -> None:
    program = (
        "import sys, antiphon.build.server\n"
        "print([name for name in sys.modules if name.startswith(('antiphon.tools.code', "
        "'antiphon.sandbox'))])"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout

    assert loaded == "[]\n"
