"""The exact version of every package that Antiphon needs, with the hashes of its files."""

import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from packaging.markers import Marker
from packaging.utils import canonicalize_name

from release.steps import ReleaseError, run

PLATFORMS = ("linux", "darwin")
LINE = re.compile(
    r"(?P<name>[\w.-]+)==(?P<version>\S+)(?: ; (?P<marker>.+?))?(?P<hashes>(?: +--hash=\S+)+)"
)


@dataclass(frozen=True, slots=True)
class Pin:
    """A version of a package."""

    name: str
    version: str
    marker: str
    """Where it is needed, empty for everywhere."""
    hashes: tuple[str, ...]
    """`sha256:…` of each of its files."""

    def is_needed(self, pythons: Iterable[str]) -> bool:
        """Whether a supported platform needs it, with one of these Pythons (`3.11`)."""
        if not self.marker:
            return True
        marker = Marker(self.marker)
        return any(
            marker.evaluate(
                {
                    "python_version": python,
                    "python_full_version": f"{python}.0",
                    "sys_platform": platform,
                }
            )
            for python, platform in product(pythons, PLATFORMS)
        )

    def __str__(self) -> str:
        where = f" ; {self.marker}" if self.marker else ""
        return " \\\n    ".join(
            (f"{self.name}=={self.version}{where}", *(f"--hash={one}" for one in self.hashes))
        )


def resolve(root: Path, pythons: list[str]) -> list[Pin]:
    """Return what Antiphon needs with all extras, in the versions of constraints.txt.

    Raises `ReleaseError`.
    """
    command: list[str | Path] = [
        Path(sys.executable).parent / "uv", "pip", "compile", "--quiet", "--universal", "--generate-hashes",  # noqa: E501 - one text, or a row of a table
        "--no-header", "--no-annotate", "--python-version", pythons[0], "--extra", "all",
        "--constraint", "constraints.txt", "pyproject.toml",
    ]  # fmt: skip
    pins = [
        pin for pin in parse(run("Resolving the pins", command, root)) if pin.is_needed(pythons)
    ]
    unknown = sorted(unpinned(pins, (root / "constraints.txt").read_text()))
    if unknown:
        raise ReleaseError(
            f"constraints.txt has no version of {', '.join(unknown)}: run `make constraints`."
        )
    return pins


def parse(requirements: str) -> Iterator[Pin]:
    """Read a requirements file with hashes.

    Raises `ReleaseError` for a line that is not a version with hashes.
    """
    for line in requirements.replace("\\\n", "").splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        match = LINE.fullmatch(line.strip())
        if match is None:
            raise ReleaseError(
                f"A line of the resolved requirements is not a version with hashes: {line}"
            )
        hashes = tuple(one.removeprefix("--hash=") for one in match["hashes"].split())
        yield Pin(match["name"], match["version"], match["marker"] or "", hashes)


def unpinned(pins: Iterable[Pin], constraints: str) -> Iterator[str]:
    """Yield the packages with a version that the constraints do not have."""
    lines = (line.partition("==") for line in constraints.splitlines())
    known = {(canonicalize_name(name), version) for name, _, version in lines}
    yield from (
        f"{pin.name} {pin.version}"
        for pin in pins
        if (canonicalize_name(pin.name), pin.version) not in known
    )


def page(pins: Iterable[Pin], version: str, pythons: list[str]) -> str:
    """Return the requirements file."""
    return (
        f"# What Antiphon {version} needs with all extras, for Python {pythons[0]} "
        f"to {pythons[-1]} on Linux and macOS:\n"
        f"#   pip install --require-hashes -r antiphon-{version}-requirements.txt\n"
        f"#   pip install --no-deps antiphon-{version}-py3-none-any.whl "
        f"antiphon_verify-{version}-py3-none-any.whl\n"
        "\n" + "".join(f"{pin}\n" for pin in pins)
    )
