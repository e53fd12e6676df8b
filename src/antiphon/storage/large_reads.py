"""How many large reads a process performs at once: a fair scheduler shares them between tenants."""

from antiphon.sharing.scheduler import FairScheduler

READS_AT_ONCE = 5
"""Maximum number of concurrent large reads of a process; four of one tenant. Each uses the CPU in
slices of ms.
"""

READS_WAITING = 1000
"""Maximum number of waiting large reads. Further reads are rejected immediately."""

OVERLOADED = "The store is overloaded: too many large reads are waiting."


def shared_reads() -> FairScheduler:
    """Return the scheduler of a process's large reads."""
    return FairScheduler(READS_AT_ONCE, READS_WAITING, leaves_room=True)
