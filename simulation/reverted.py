"""Faults that Antiphon once had: each reverts the fix of one, to show that the simulation finds it.
`python -m simulation.worth` runs them beside the other mutations.
"""

from collections.abc import Mapping

from antiphon.jobs import queue
from antiphon.jobs.recorder import BackgroundRecorder
from antiphon.recording.persistence import ForegroundRecorder
from antiphon.storage.operations import jobs
from simulation.changes import Mutation, code

REVERTED: Mapping[str, Mutation] = {
    "lost_acknowledgement": Mutation(
        "a client receives a failure for a response that was committed",
        code(ForegroundRecorder._has, "return found is not None and", "return False and"),
    ),
    "open_items_of_cancelled": Mutation(
        "a cancelled response does not close what it was in the middle of",
        code(queue.end, "await close_unfinished(parts, job, writer)", "stored.output"),
    ),
    "dropped_log_counted": Mutation(
        "the log that the end of a job drops counts as stored bytes",
        code(jobs.finish, "step_bytes if drops_log else log_bytes", "log_bytes"),
    ),
    "end_not_recognised": Mutation(
        "an end that is stored is not recognised after its run was cancelled",
        code(BackgroundRecorder._settle, "await has_ended_as(self._parts.store, stored)", "False"),
    ),
}
