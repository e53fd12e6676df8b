"""The zstd library, loaded on first use."""

import sys
from importlib import import_module
from typing import Any


def zstd_library() -> Any:
    """Return the standard library's zstd, or the package's on an older Python."""
    return import_module("compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd")
