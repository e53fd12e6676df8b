"""Where code runs in tests: in bubblewrap where it works, with the packages that `make
code-environment` installs.
"""

import subprocess
from pathlib import Path

import pytest

PYTHON = Path(__file__).parents[2] / ".venv-code/bin/python"


def _isolates() -> bool:
    """Whether bubblewrap can make namespaces here."""
    command = ("bwrap", "--unshare-all", "--ro-bind", "/", "/", "true")
    try:
        return subprocess.run(command, capture_output=True, timeout=20, check=False).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


needs_sandbox = pytest.mark.skipif(
    not _isolates(), reason="bubblewrap cannot isolate processes on this machine"
)

needs_pandas = pytest.mark.skipif(
    not PYTHON.exists(), reason="make code-environment did not install pandas"
)

SANDBOX = f'code_sandbox = "bubblewrap"\ncode_python = "{PYTHON if PYTHON.exists() else ""}"\n'
"""Settings of a server that runs code, with pandas where it is installed."""
