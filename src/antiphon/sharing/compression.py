"""The zstd library, loaded on first use."""

import sys
from typing import Any

from antiphon.packages import load_module

ZSTD = "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd"


def zstd_library() -> Any:
    """Return the standard library's zstd, or the package's on an older Python."""
    return load_module(ZSTD)
