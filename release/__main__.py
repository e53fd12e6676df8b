"""`make release VERSION=…`: check the tree, build twice, install the result, and write dist/."""

import platform
import re
import runpy
import shutil
import sys
import sysconfig
import tempfile
import tomllib
import venv
from pathlib import Path

from release import building, checks, components, licences, pins, sbom
from release.steps import ReleaseError, run

ROOT = Path(__file__).resolve().parents[1]
DIST = ROOT / "dist"


def main() -> int:
    """Build the version that the command line names; return the exit code."""
    version = sys.argv[1] if len(sys.argv) > 1 else ""
    tree = read_tree()
    if found := list(checks.problems(version, tree)):
        print("Nothing was built:", *found, sep="\n- ", file=sys.stderr)
        return 1
    try:
        with tempfile.TemporaryDirectory(prefix="antiphon-release-") as work:
            built = make(
                version, checks.notes(version, checks.sections(tree.changelog)), Path(work)
            )
            publish(built, DIST)
    except ReleaseError as error:
        print(f"Nothing was written to dist/. {error}", file=sys.stderr)
        return 1
    print(
        f"\n{(DIST / 'SHA256SUMS').read_text()}\ndist/ is ready. Nothing was uploaded: "
        "CONTRIBUTING.md, 'Release'."
    )
    return 0


def read_tree() -> checks.Tree:
    """Read what is checked."""
    status = run("Reading the state of the tree", ["git", "status", "--porcelain", "-z"], ROOT)
    return checks.Tree(
        declared=runpy.run_path(str(ROOT / "src/antiphon/version.py"))["__version__"],
        changelog=(ROOT / "CHANGELOG.md").read_text(),
        uncommitted=[line[3:] for line in status.split("\0") if line],
    )


def make(version: str, notes: str, work: Path) -> list[Path]:
    """Make all files of a release below `work`; return them. Raises `ReleaseError`."""
    print_step(
        "Building twice, in different folders, time zones and with different permissions ..."
    )
    built = building.build_twice(ROOT, work)
    wheel = built.wheel
    print_step(
        f"Both builds are equal. Python {platform.python_version()}; the console's Node.js can "
        "change its hash."
    )
    pythons = supported_pythons()
    pinned = pins.resolve(ROOT, pythons)
    target = work / "release"
    target.mkdir()
    name = f"antiphon-{version}"
    requirements = target / f"{name}-requirements.txt"
    requirements.write_text(pins.page(pinned, version, pythons))
    print_step(
        f"Installing the wheels and {len(pinned)} packages with their hashes into an empty "
        "environment ..."
    )
    own, *needed = install(requirements, built, work / "environment", version)
    components.check_complete(needed, (pin.name for pin in pinned), platform.python_version())
    bundled = components.bundled(wheel)
    epoch = int(run("Reading the time of the commit", ["git", "log", "-1", "--format=%ct"], ROOT))
    texts = {
        f"{name}-sbom.cdx.json": sbom.document(own, needed, bundled, building.digest(wheel), epoch),
        f"{name}-licences.txt": licences.page(version, [*needed, *bundled]),
        f"{name}-release-notes.md": f"# Antiphon {version}\n\n{notes}\n",
    }
    for file, text in texts.items():
        (target / file).write_text(text)
    return [*built, *sorted(target.iterdir())]


def install(
    requirements: Path, built: building.Built, home: Path, version: str
) -> list[components.Component]:
    """Install as a user would; return Antiphon and what was installed with it.

    Raises `ReleaseError`.

    antiphon-verify is installed too, and needs no package that Antiphon does not need.
    """
    venv.create(home, with_pip=True)
    python = home / "bin/python"
    steps: dict[str, list[str | Path]] = {
        "Installing the pins": ["install", "--quiet", "--require-hashes", "-r", requirements],
        "Installing the wheels": [
            "install",
            "--quiet",
            "--no-deps",
            "--no-index",
            built.wheel,
            built.verify,
        ],
        "Checking what the packages require": ["check"],
    }
    for what, arguments in steps.items():
        run(what, [python, "-m", "pip", *arguments], home)
    for program in ("antiphon", "antiphon-verify"):
        printed = run(f"Starting {program}", [home / "bin" / program, "--version"], home)
        if printed.strip() != f"{program} {version}":
            raise ReleaseError(
                f"The installed wheel is not {version}: `{program} --version` prints "
                f"{printed.strip()}"
            )
    site = Path(sysconfig.get_path("purelib", vars={"base": str(home), "platbase": str(home)}))
    return components.installed(site, "antiphon", "all")


def supported_pythons() -> list[str]:
    """Return the versions of Python that the package names, the oldest first."""
    classifiers = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["classifiers"]
    return [line.rpartition(" :: ")[2] for line in classifiers if re.search(r":: 3\.\d+$", line)]


def publish(files: list[Path], target: Path) -> None:
    """Replace a folder by one with these files and their hashes."""
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir()
    for file in files:
        shutil.copyfile(file, target / file.name)
    sums = [
        f"{building.digest(file)}  {file.name}\n"
        for file in sorted(files, key=lambda file: file.name)
    ]
    (target / "SHA256SUMS").write_text("".join(sums))


def print_step(text: str) -> None:
    """Show progress."""
    print(text, flush=True)


if __name__ == "__main__":
    sys.exit(main())
