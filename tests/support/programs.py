"""Programs that tests start and that are no Python packages: where one is missing, its tests are
skipped and say so.
"""

import os
import shutil

import pytest

PATH = f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin"
"""Debian installs servers where only the path of root leads."""


def find(*names: str) -> str | None:
    """Return the path of the first of these programs that is installed."""
    return next(filter(None, (shutil.which(name, path=PATH) for name in names)), None)


def needs(program: str | None, package: str) -> pytest.MarkDecorator:
    """Skip a test where its program, a path, was not found.

    `package` is the package of Debian that contains it.
    """
    return pytest.mark.skipif(
        not program, reason=f"MISSING PROGRAM: {package} (Debian: apt-get install {package})"
    )
