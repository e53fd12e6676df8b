"""LangGraph is installed for its tests alone: two dozen packages, 80 MB."""

import os
import subprocess
import sys
from pathlib import Path

from tests.support import pip

HERE = Path(__file__).parent
ROOT = HERE.parents[2]


def test_graphs_of_langgraph_are_models() -> None:
    commands = pip.install(HERE / "langgraph.txt", "langgraph")
    (packages,) = commands.parent.glob("lib/python*/site-packages")
    path = os.pathsep.join(map(str, (ROOT, ROOT / "src", packages)))
    plugins = ("-p", "no:langsmith_plugin", "-p", "no:cacheprovider")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-n", "0", *plugins, str(HERE / "graphs.py")],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
