"""What a client kept for us, opened: the state behind a reasoning item, the summary behind a compaction."""

from collections.abc import Callable
from typing import Any

from antiphon.protocol.items.messages import Compaction

Unseal = Callable[[str], dict[str, Any]]
"""Opens an `encrypted_content`; what cannot be opened is empty. Raises `ClientError` where that is not to be borne."""

UNREADABLE = "[It was kept by another server and cannot be read here.]"


def nothing(blob: str) -> dict[str, Any]:
    """Open nothing."""
    return {}


def recount(compaction: Compaction, unseal: Unseal) -> str:
    """Return what a compaction stands for, in words."""
    summary = unseal(compaction.encrypted_content).get("summary")
    return summary if isinstance(summary, str) else UNREADABLE
