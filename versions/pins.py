"""Sets of versions: the pinned ones, the lowest that pyproject.toml allows, and the newest of
today.
"""

import re
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from versions import uv
from versions.uv import ROOT

PROJECT: Mapping[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS: Mapping[str, list[str]] = PROJECT["optional-dependencies"]
PYTHONS = [
    line.rpartition(" :: ")[2] for line in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", line)
]
"""The versions of Python that the package promises."""

Pins = Mapping[str, str]
"""Normalised name of a distribution -> version."""


def normal(name: str) -> str:
    """Return the normalised name of a distribution."""
    return re.sub(r"[-_.]+", "-", name).lower()


def parse(text: str) -> Pins:
    """Return the pins of a file of constraints."""
    found = (re.match(r"([\w.-]+)==([\w.+!-]+)", line) for line in text.splitlines())
    return {normal(match[1]): match[2] for match in found if match}


def pinned() -> Pins:
    """Return the versions of constraints.txt."""
    return parse((ROOT / "constraints.txt").read_text())


def lowest() -> Pins:
    """Return the versions of constraints-lowest.txt."""
    return parse((ROOT / "constraints-lowest.txt").read_text())


def newest(python: str) -> Pins:
    """Ask the package registry for the newest versions that pyproject.toml allows on a Python such
    as `3.12`.

    What users install decides: a package that only the tests need never holds one of these back.
    Raises `CalledProcessError` if there is no solution.
    """
    users = compiled(_requirements(("all",)), python)
    with TemporaryDirectory() as folder:
        override = Path(folder, "override.txt")
        override.write_text(lines(users))
        return compiled(_requirements(("all", "test")), python, "--override", str(override))


def lines(pins: Pins) -> str:
    """Return a file of constraints."""
    return "".join(f"{name}=={version}\n" for name, version in sorted(pins.items()))


def different(pins: Pins, of: Pins) -> Mapping[str, tuple[str, str]]:
    """Return package -> its version in `of` and in `pins`, where both have it and the versions
    differ.
    """
    return {
        name: (of[name], version)
        for name, version in sorted(pins.items())
        if name in of and of[name] != version
    }


def bounds() -> Iterable[str]:
    """Return every package that has a range in pyproject.toml for users or for the tests."""
    return sorted(
        {normal(re.split(r"[^\w.-]", line)[0]) for line in _requirements(("all", "test"))}
    )


def _requirements(extras: Iterable[str]) -> list[str]:
    found: list[str] = list(PROJECT["dependencies"])
    for extra in extras:
        for line in EXTRAS[extra]:
            named = re.fullmatch(r"antiphon\[(.+)\]", line)
            found += (
                [one for name in named[1].split(",") for one in EXTRAS[name]] if named else [line]
            )
    return [line for line in dict.fromkeys(found) if not line.startswith("antiphon")]


def compiled(requirements: Iterable[str], python: str, *flags: str) -> Pins:
    """Return what uv resolves the requirements to."""
    command = [
        "pip",
        "compile",
        "-",
        "--python-version",
        python,
        "--no-header",
        "--no-annotate",
        *flags,
    ]
    return parse(uv.run(*command, text="\n".join(requirements)))
