"""The state of the sandbox that runs code in containers, for the status."""

from collections import Counter
from collections.abc import Mapping, Sequence

from msgspec import Struct, field
from msgspec.structs import replace


class CodeStatus(Struct, kw_only=True):
    """The configured sandbox, over all processes.

    Counts of calls begin when the processes start.
    """

    sandbox: str
    problem: str = ""
    """Why the tools are disabled; empty if they work."""
    containers: int | None = None
    """Containers in the store that have not expired; None if the store did not answer."""
    kernels: int = 0
    """Processes that retain the variables of a container between calls."""
    running: int = 0
    waiting: int = 0
    """Running calls, and calls that wait for their tenant's turn."""
    memory: int = 0
    """Bytes of memory that the kernels use."""
    calls: Mapping[str, int] = field(default_factory=dict)
    """Ended calls, by outcome."""
    rejections: Mapping[str, int] = field(default_factory=dict)
    """Calls that were not run, by reason."""


def code_together(known: Sequence[CodeStatus | None]) -> CodeStatus | None:
    """Return the sum of the reports of several processes, None if no process runs code."""
    found = [one for one in known if one is not None]
    if not found:
        return None
    return replace(
        next((one for one in found if one.problem), found[0]),
        kernels=sum(one.kernels for one in found),
        running=sum(one.running for one in found),
        waiting=sum(one.waiting for one in found),
        memory=sum(one.memory for one in found),
        calls=_summed([one.calls for one in found]),
        rejections=_summed([one.rejections for one in found]),
    )


def _summed(counts: Sequence[Mapping[str, int]]) -> Mapping[str, int]:
    total = Counter[str]()
    for one in counts:
        total.update(one)
    return dict(sorted(total.items()))
