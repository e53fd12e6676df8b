"""The zstd library, loaded for the first that needs it."""

import sys
from importlib import import_module
from typing import Any


def zstd_library() -> Any:
    """Return the standard library's zstd, of an older Python the package's."""
    return import_module("compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd")
