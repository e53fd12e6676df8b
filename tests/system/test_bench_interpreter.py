"""Each Python on the machine is started to see what it is."""

import os
import sys
from pathlib import Path

from bench.interpreter import examined


def test_each_python_is_examined_once_under_its_real_name_and_what_does_not_run_is_left_out(
    tmp_path: Path,
) -> None:
    shim = tmp_path / "python3.99"
    shim.write_text("#!/bin/sh\nexit 127\n")
    shim.chmod(0o755)
    (python,) = examined([sys.executable, str(shim), os.path.realpath(sys.executable)])
    assert python.path == os.path.realpath(sys.executable)
    assert python.version == sys.version.split()[0]
    assert python.seconds > 0
