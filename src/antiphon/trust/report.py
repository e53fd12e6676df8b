"""Runs the checks one after the other, each in a folder of its own."""

import os
import platform
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from antiphon.errors import ConfigError
from antiphon.trust.checks import CHECKS
from antiphon.trust.claims import CheckedClaim, TrustReport
from antiphon.trust.model import FLOODED
from antiphon.trust.place import opened
from antiphon.trust.process import running
from antiphon.version import __version__

COMMAND = "antiphon trust-report"


async def run_checks(
    names: Sequence[str],
    *,
    store: str,
    minutes: float,
    seed: int,
    show: Callable[[CheckedClaim], None],
) -> TrustReport:
    """Run checks on an empty store, an own SQLite file without one; `show` each finding at once.

    A check that cannot run to its end is a broken finding, and the others run. Raises `ConfigError`
    for an unknown name.
    """
    for name in names:
        if name not in CHECKS:
            raise ConfigError(f"There is no check '{name}'. Checks are: {', '.join(CHECKS)}.")
    chosen = list(dict.fromkeys(names)) or list(CHECKS)
    began = time.time()
    findings: list[CheckedClaim] = []
    with tempfile.TemporaryDirectory(prefix="antiphon-trust-") as folder:
        used = store or f"sqlite:///{folder}/antiphon.db"
        async with (
            running("antiphon.trust.model", folder=folder) as model,
            running("antiphon.trust.model", FLOODED, folder=folder) as flooded,
        ):
            for place, name in enumerate(chosen):
                seconds = minutes * 60 / len(chosen)
                inside = Path(folder) / f"{place}-{name}"
                try:
                    async with opened(
                        inside, used, (model, flooded), seconds, seed + place
                    ) as room:
                        found = await CHECKS[name](room)
                except Exception as error:  # also what a check does not expect of a reply
                    found = [_stopped(name, error)]
                for one in found:
                    show(one)
                findings += found
    return TrustReport(
        version=__version__,
        python=platform.python_version(),
        system=f"{platform.system()} {platform.release()}, {platform.machine()}",
        cores=os.cpu_count() or 1,
        store="PostgreSQL" if used.startswith("postgres") else "SQLite",
        began=int(began),
        seconds=round(time.time() - began, 1),
        seed=seed,
        command=command(names, minutes, seed, has_store=bool(store)),
        findings=findings,
    )


def command(names: Sequence[str], minutes: float, seed: int, *, has_store: bool) -> str:
    """Return the command that repeats checks. The URL of a store, which can have a password, is not
    in it.
    """
    only = "".join(f" --only {name}" for name in names)
    where = " --store URL" if has_store else ""
    return f"{COMMAND} --minutes {minutes:g} --seed {seed}{only}{where}"


def _stopped(name: str, error: Exception) -> CheckedClaim:
    return CheckedClaim(
        check=name,
        claim="The check runs to its end.",
        outcome="broken",
        detail=f"{type(error).__name__}: {error}",
    )
