"""Runs uv, which makes an environment in a second: its packages are links to files that all
environments share.
"""

import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[1]
UV = ROOT / ".venv-resolve/bin/uv"


def run(*arguments: str, text: str = "") -> str:
    """Run uv with this input; return its output.

    Raises `CalledProcessError`; uv itself says what is wrong.

    No setting of pip or uv changes which versions are installed, and no Python is downloaded.
    """
    decide = ("PIP_", "UV_CONSTRAINT", "UV_BUILD_CONSTRAINT", "UV_OVERRIDE")
    variables = {name: value for name, value in os.environ.items() if not name.startswith(decide)}
    variables |= {"UV_PYTHON_DOWNLOADS": "never"}
    for theirs, ours in (("PIP_CERT", "SSL_CERT_FILE"), ("PIP_INDEX_URL", "UV_DEFAULT_INDEX")):
        if theirs in os.environ:
            variables.setdefault(ours, os.environ[theirs])
    command = [str(UV), "--quiet", *arguments]
    return subprocess.run(
        command, input=text, stdout=subprocess.PIPE, text=True, check=True, env=variables, cwd=ROOT
    ).stdout
