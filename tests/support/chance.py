"""What is left to chance in the tests: nothing by default, so that two runs do the same.

`HYPOTHESIS_PROFILE=nightly` asks for ten times as many examples, other ones every time. `ANTIPHON_SEED` repeats a run;
the header of every run names its seed.
"""

import os
import random

from hypothesis import HealthCheck, settings

FIXED = 20_251_122
"""The seed of every run that names no other."""

PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "ci")

TIMES = 10 if PROFILE == "nightly" else 1
"""How many times as many examples as usual are tried."""


def _seed() -> int:
    if PROFILE == "nightly":  # the processes of one run share what the first of them has thrown
        os.environ.setdefault("ANTIPHON_SEED", str(random.SystemRandom().randrange(1, 10**6)))
    return int(os.environ.get("ANTIPHON_SEED") or FIXED)


SEED = _seed()

_SLOWLY = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
"""A busy machine is no fault of what is tested."""

settings.register_profile("ci", derandomize=SEED == FIXED, database=None, print_blob=True, **_SLOWLY)
settings.register_profile("nightly", max_examples=100 * TIMES, print_blob=True, **_SLOWLY)
settings.load_profile(PROFILE)


def examples(count: int, **more: object) -> settings:
    """How many examples a test tries; more of them every night."""
    return settings(max_examples=count * TIMES, **more)  # type: ignore[arg-type]
