"""`python -m simulation.worker ORDER`: runs simulations in a Python process of its own, with
simulated clocks and randomness; prints a line of JSON for each.
"""

import json
import sys
from collections.abc import Iterator
from typing import Any

from simulation.machine import install


def outcomes(order: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Run the seeds of an order, until the first failure if it says so; see `simulation.runs`."""
    from simulation.faults import FAULTS  # noqa: PLC0415 - after `install`
    from simulation.plan import plan_of  # noqa: PLC0415
    from simulation.shrink import shrink  # noqa: PLC0415
    from simulation.world import simulate  # noqa: PLC0415

    if order["mutation"]:
        FAULTS[order["mutation"]].apply()
    for seed in order["seeds"]:
        plan = plan_of(seed)
        if order["only"]:
            plan = plan.only(frozenset(order["only"]))
        outcome = simulate(plan)
        if outcome.violations and order["shrinks"]:
            outcome = shrink(outcome)
        if order["is_traced"]:
            outcome = simulate(outcome.plan, is_traced=True)
        yield {
            "seed": seed,
            "violations": outcome.violations,
            "digest": outcome.digest,
            "steps": outcome.steps,
            "simulated": outcome.simulated,
            "setting": outcome.plan.setting,
            "events": list(map(str, outcome.plan.events)),
            "numbers": [event.number for event in outcome.plan.events],
            "trace": outcome.trace,
        }
        if outcome.violations and order["stops"]:
            return


if __name__ == "__main__":
    install()
    for found in outcomes(json.loads(sys.argv[1])):
        print(json.dumps(found), flush=True)
