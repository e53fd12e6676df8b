"""The packages that a release installs, or has in its bundle: their licences, and what they
need.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import Distribution, distributions
from pathlib import Path
from zipfile import ZipFile

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from release.steps import ReleaseError

BUNDLED = "antiphon/server/console/static/licences.json"
"""Vite writes it: the packages whose code is in the console's bundle."""
CLASSIFIER = "License :: OSI Approved :: "
LICENCE_FILE = re.compile(
    r"[^/]+\.dist-info/(licenses/.+|(licen[cs]e|copying|notice)[^/]*)", re.IGNORECASE
)
UNKNOWN = "not stated"


@dataclass(frozen=True, slots=True)
class Component:
    """A package."""

    kind: str
    """`pypi` or `npm`, as in a package URL."""
    name: str
    version: str
    licence: str
    """As the package states it: an SPDX expression, or a name."""
    texts: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    """Names of the components that it requires."""


def installed(site: Path, name: str, extra: str) -> list[Component]:
    """Return a package with this extra and all that it requires, from a folder of packages; the
    package is first.

    Raises `ReleaseError` if a required package is missing.
    """
    found: dict[str, Distribution] = {
        canonicalize_name(one.name): one for one in distributions(path=[str(site)])
    }
    needs = required(found, name, extra)
    return [_component(found[one], needs[one]) for one in needs]


def required(
    found: Mapping[str, Distribution], name: str, extra: str
) -> dict[str, tuple[str, ...]]:
    """Return package -> the packages that it requires, from the first on.

    Raises `ReleaseError` if one is missing.
    """
    needs: dict[str, set[str]] = {}
    waiting = [(name, ""), (name, extra)]
    seen = set[tuple[str, str]]()
    while waiting:
        one, wanted = waiting.pop(0)
        if (one, wanted) in seen:
            continue
        seen.add((one, wanted))
        if one not in found:
            raise ReleaseError(f"The package {one} is required, and it is not installed.")
        for requirement in _requirements(found[one], wanted):
            other = canonicalize_name(requirement.name)
            needs.setdefault(one, set()).update({other} - {one})
            waiting += [(other, ""), *((other, further) for further in sorted(requirement.extras))]
        needs.setdefault(one, set())
    return {one: tuple(sorted(names)) for one, names in needs.items()}


def _requirements(distribution: Distribution, extra: str) -> Iterator[Requirement]:
    for line in distribution.requires or ():
        requirement = Requirement(line)
        if requirement.marker is None or requirement.marker.evaluate({"extra": extra}):
            yield requirement


def _component(distribution: Distribution, needs: tuple[str, ...]) -> Component:
    return Component(
        kind="pypi",
        name=canonicalize_name(distribution.name),
        version=distribution.version,
        licence=licence_of(distribution),
        texts=tuple(_texts(distribution)),
        needs=needs,
    )


def licence_of(distribution: Distribution) -> str:
    """Return the licence that a package states, from the most exact field that it has."""
    metadata = distribution.metadata
    names = ("License-Expression", "Classifier", "License")
    fields: dict[str, list[str]] = {name: metadata.get_all(name, []) for name in names}
    for expression in fields["License-Expression"]:
        return expression
    if named := [
        one.removeprefix(CLASSIFIER) for one in fields["Classifier"] if one.startswith(CLASSIFIER)
    ]:
        return ", ".join(named)
    for text in fields["License"]:
        return text.partition("\n")[0].strip() or UNKNOWN  # some packages have the whole text there
    return UNKNOWN


def _texts(distribution: Distribution) -> Iterator[str]:
    for file in sorted(distribution.files or (), key=str):
        if LICENCE_FILE.fullmatch(file.as_posix()):
            yield Path(file.locate()).read_text(errors="replace").strip()


def bundled(wheel: Path) -> list[Component]:
    """Return the packages of npm in the console's bundle.

    Raises `ReleaseError` if the wheel has no bundle.
    """
    with ZipFile(wheel) as archive:
        if BUNDLED not in archive.namelist():
            raise ReleaseError(f"The wheel has no {BUNDLED}: build it with the console.")
        listed = json.loads(archive.read(BUNDLED))
    return [
        Component("npm", one["name"], one["version"], one["identifier"], (one["text"],))
        for one in listed
    ]


def check_complete(components: Iterable[Component], pinned: Iterable[str], python: str) -> None:
    """Raise `ReleaseError` if a pinned package is missing, so that its licence is unknown."""
    missing = sorted(set(map(canonicalize_name, pinned)) - {one.name for one in components})
    if missing:
        raise ReleaseError(
            f"Python {python} does not install {', '.join(missing)}, so the licence is unknown. "
            "Release with the oldest supported Python: `make clean`, "
            "then `make release PYTHON=python3.11 VERSION=…`."
        )
