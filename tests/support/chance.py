"""What is left to chance in the tests: examples of properties, and races. One seed decides, and a
header names it.

`ANTIPHON_SEED` chooses the seed. Without it the seed follows from the tree: every change of a file
is tried with other examples, and the same tree with the same. `HYPOTHESIS_PROFILE` chooses how many
examples are tried: a share of the usual number (`SHARES`). The examples of `nightly` are others
each time.

Hypothesis also draws constants from the modules that are loaded, so that one test alone may try
other examples than it tries in a whole run. The blob that a failure prints repeats it anywhere.
"""

import os
import random
import subprocess
from collections.abc import MutableMapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import TypeVar

from hypothesis import HealthCheck, settings

ROOT = Path(__file__).parents[2]

FIXED = 20_251_122
"""The seed of a tree of which Git knows nothing, such as a copy in which mutants run."""

MOST = 10**6
"""The highest seed that is chosen here."""

SHARES = {"test": 0.3, "wide": 1.0, "nightly": 10.0}
"""Which share of the usual examples a profile tries."""

PROFILE = os.environ.get("HYPOTHESIS_PROFILE") or "test"


def seed_of_run(environment: MutableMapping[str, str], profile: str, root: Path) -> int:
    """Return the seed of this run, and leave it to the processes that pytest starts.

    They find it under another name: to a server in the tests, `ANTIPHON_SEED` would be an unknown
    setting.
    """
    chosen = environment.pop("ANTIPHON_SEED", "") or environment.get("CHANCE_SEED", "")
    if not chosen:
        chosen = str(
            random.SystemRandom().randrange(1, MOST) if profile == "nightly" else seed_of_tree(root)
        )
    environment["CHANCE_SEED"] = chosen
    return int(chosen)


def seed_of_tree(root: Path) -> int:
    """Return a seed that follows from the files of a repository: those of its commit, and what
    differs from it.
    """
    commands = (
        ("rev-parse", "--show-prefix"),
        ("rev-parse", "HEAD^{tree}"),
        ("diff", "--binary", "HEAD"),
    )
    try:
        prefix, *parts = [
            subprocess.run(("git", *command), cwd=root, capture_output=True, check=True).stdout
            for command in commands
        ]
    except (OSError, subprocess.CalledProcessError):
        return FIXED
    if prefix.strip():  # a folder inside another repository
        return FIXED
    return int.from_bytes(sha256(b"".join(parts)).digest()[:8]) % MOST + 1


SEED = seed_of_run(os.environ, PROFILE, ROOT)


def times(count: int) -> int:
    """Return how often something is tried that is usually tried `count` times."""
    return max(1, round(count * SHARES[PROFILE]))


_SLOWLY = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
"""A busy machine is no fault of what is tested."""

settings.register_profile(
    PROFILE, max_examples=times(100), database=None, print_blob=True, derandomize=False, **_SLOWLY
)
settings.load_profile(PROFILE)


def examples(count: int, **more: object) -> settings:
    """How many examples a property has, in a profile that tries all."""
    return settings(max_examples=times(count), **more)  # type: ignore[arg-type]


T = TypeVar("T")


def third(cases: Sequence[T], seed: int = SEED) -> list[T]:
    """Return a third of many cases, in their order.

    Three seeds in a row, whatever they are, choose every case once. Which cases are chosen together
    does not depend on their order, so that a product loses none of its factors.
    """
    places = list(range(len(cases)))
    random.Random(len(cases)).shuffle(places)
    return [cases[place] for place in sorted(places[seed % 3 :: 3])]
