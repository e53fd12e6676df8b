"""Check that other packages keep their newest version with Antiphon. `make test-resolve` queries
the package registry.

pip falls back to an old version of a package, silently, where the ranges of two packages do not
meet. So each package here is resolved alone and with Antiphon, for each Python: its minor version
must be the same. Nothing is installed. The answer changes with each release of these packages.
"""

import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path

PROJECT = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
EXTRAS: Mapping[str, list[str]] = PROJECT["optional-dependencies"]

PYTHONS = [
    line.rpartition(" :: ")[2] for line in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", line)
]

PACKAGES = (
    "openai[realtime]",
    "openai-agents",
    "google-adk",
    "litellm[proxy]",
    "langchain-openai",
    "llama-index-llms-openai",
    "pydantic-ai",
    "chainlit",
    "crewai",
    "fastapi",
    "streamlit",
    "fastmcp",
    "mcp",
)

APART: Mapping[tuple[str, str], str] = {
    ("chainlit", "mcp"): "it needs version 1 of the MCP SDK",
    ("crewai", "mcp"): "it needs version 1 of the MCP SDK",
}
"""A package and an extra that no environment can hold together, and why. The script fails where
that has changed.
"""

AT_ONCE = 8
"""Resolutions at once; they wait for the registry."""

PLATFORMS = ("x86_64-manylinux_2_31", "aarch64-manylinux_2_31", "aarch64-apple-darwin")
"""Where Antiphon with all extras has to install from wheels alone."""


@dataclass(frozen=True, slots=True)
class Question:
    """A package with these extras and the core."""

    package: str
    extras: tuple[str, ...]
    python: str
    is_refused: bool = False
    """The two do not fit, and are expected not to."""

    def __str__(self) -> str:
        alongside = f"antiphon[{','.join(self.extras)}]" if self.extras else "antiphon"
        return f"{self.package} with {alongside} on Python {self.python}"


def ranges_of(extras: Iterable[str]) -> list[str]:
    """Return the requirements of the core and of these extras; an extra may name others."""
    found = list(PROJECT["dependencies"])
    for extra in extras:
        for requirement in EXTRAS[extra]:
            named = re.fullmatch(r"antiphon\[(.+)\]", requirement)
            found += (
                ranges_of(named[1].split(","))[len(PROJECT["dependencies"]) :]
                if named
                else [requirement]
            )
    return found


def resolved(requirements: Iterable[str], python: str, *flags: str) -> dict[str, str]:
    """Return package -> version.

    Raises `RuntimeError` with what the resolver says if there is no solution.
    """
    command = [
        "uv",
        "pip",
        "compile",
        "-",
        "--python-version",
        python,
        "--no-header",
        "--no-annotate",
        "--quiet",
    ]
    command[0] = str(Path(sys.executable).parent / "uv")
    done = subprocess.run(
        [*command, *flags],
        input="\n".join(requirements),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(done.stderr.strip())
    lines = (line.partition("==") for line in done.stdout.splitlines() if "==" in line)
    return {name.partition("[")[0]: version.partition(" ")[0] for name, _, version in lines}


@cache
def newest(package: str, python: str) -> str:
    """Return the version of a package alone.

    Raises `RuntimeError` if none exists for this Python.
    """
    return resolved([package], python)[package.partition("[")[0]]


def minor(version: str) -> tuple[str, ...]:
    """Return what has to be the same: `1.57` of `1.57.3`."""
    return tuple(version.split(".")[:2])


def questions() -> Iterator[Question]:
    """Each package with the core, with all extras that fit, and with those that do not."""
    every = [extra for extra in ranges_named("all") if EXTRAS[extra]]
    for python in PYTHONS:
        for package in PACKAGES:
            yield Question(package, (), python)
            yield Question(
                package, tuple(extra for extra in every if (package, extra) not in APART), python
            )
            for extra in every:
                if (package, extra) in APART:
                    yield Question(package, (extra,), python, is_refused=True)


def ranges_named(extra: str) -> list[str]:
    """Return the extras that an extra names."""
    return [
        name
        for line in EXTRAS[extra]
        if (named := re.search(r"\[(.+)\]", line))
        for name in named[1].split(",")
    ]


def trouble(question: Question) -> str:
    """Return what is wrong, empty where the package keeps its version."""
    name = question.package.partition("[")[0]
    try:
        alone = newest(question.package, question.python)
    except RuntimeError as error:
        return f"{question.package} does not resolve on Python {question.python} alone: {error}"
    try:
        alongside = resolved([question.package, *ranges_of(question.extras)], question.python)[name]
        wrong = (
            "" if minor(alongside) == minor(alone) else f"{question}: {alongside}, alone {alone}"
        )
    except RuntimeError as error:
        wrong = f"{question}: no solution\n{error}"
    if question.is_refused:
        return "" if wrong else f"{question}: it fits now, so it can leave APART"
    return wrong


def wheel_trouble(python: str, platform: str) -> str:
    """Return what is wrong where Antiphon and all extras do not install from wheels alone."""
    try:
        resolved(
            ranges_of(["all"]), python, "--only-binary", ":all:", "--python-platform", platform
        )
    except RuntimeError as error:
        return f"antiphon[all] on Python {python}, {platform}: {error}"
    return ""


def main() -> int:
    """Ask everything, or only of the packages that the command line names; return the exit code."""
    named = sys.argv[1:] or PACKAGES
    requested = [question for question in questions() if question.package in named]
    places = [(python, platform) for python in PYTHONS for platform in PLATFORMS]
    wrong = 0
    with ThreadPoolExecutor(AT_ONCE) as threads:
        for line in (
            *threads.map(trouble, requested),
            *threads.map(lambda place: wheel_trouble(*place), places),
        ):
            if line:
                wrong += 1
                print(line, end="\n\n", flush=True)
    for (package, extra), reason in APART.items():
        print(f"{package} cannot be installed with antiphon[{extra}]: {reason}.")
    print(
        f"{len(requested) + len(places)} resolutions, Python {', '.join(PYTHONS)}: {wrong} wrong."
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
