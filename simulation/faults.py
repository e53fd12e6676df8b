"""All faults that `python -m simulation.worth` puts into the code."""

from collections.abc import Mapping

from simulation.changes import Mutation
from simulation.mutations import MUTATIONS
from simulation.reverted import REVERTED

FAULTS: Mapping[str, Mutation] = {**MUTATIONS, **REVERTED}
