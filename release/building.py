"""The wheels and the sdist: built twice, in different surroundings, and compared."""

import hashlib
import os
import shutil
import sys
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple
from zipfile import ZipFile

from release.steps import ReleaseError, run


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What differs between machines, and must not change a build."""

    folder: str
    umask: int
    zone: str
    modified: int
    """When the sources were last modified, in seconds since 1970."""


class Built(NamedTuple):
    """What a build of the tree consists of."""

    wheel: Path
    """The server's wheel."""
    sdist: Path
    """The sources of the whole tree."""
    verify: Path
    """The wheel of antiphon-verify."""


BUILDS = (
    Surroundings("one", 0o022, "UTC", 1_700_000_000),
    Surroundings("another/place for it", 0o077, "Asia/Tokyo", 1_000_000_000),
)


def build_twice(root: Path, work: Path, console: str = "required") -> Built:
    """Build a tree twice below `work`; return the first build.

    Raises `ReleaseError` if the two differ.

    `console` is `required`, or `skip` for a wheel without it.
    """
    epoch = run(
        "Reading the time of the commit", ["git", "log", "-1", "--format=%ct"], root
    ).strip()
    first, second = (_build(root, work, surroundings, epoch, console) for surroundings in BUILDS)
    different = [name for pair in zip(first, second, strict=True) for name in differences(*pair)]
    if different:
        raise ReleaseError(
            f"Two builds of the same sources differ in: {', '.join(different)}. "
            "Find what wrote the time, a path or an order into these files, and remove it."
        )
    return first


def _build(root: Path, work: Path, surroundings: Surroundings, epoch: str, console: str) -> Built:
    """Build a copy of the tree."""
    source = work / surroundings.folder / "source"
    copy_tree(root, source, surroundings)
    target = work / surroundings.folder / "dist"
    variables = {
        "SOURCE_DATE_EPOCH": epoch,
        "TZ": surroundings.zone,
        "ANTIPHON_BUILD_CONSOLE": console,
    }
    hatchling = ("-m", "hatchling", "build", "--directory", str(target))
    steps: dict[str, tuple[Path, tuple[str, ...]]] = {
        "Building the console": (source, ("console/build.py", "--install-node", "--strict")),
        "Building the wheel and the sdist": (source, hatchling),
        "Building the wheel of antiphon-verify": (
            source / "verify",
            (*hatchling, "--target", "wheel"),
        ),
    }
    if console == "skip":
        del steps["Building the console"]
    for what, (folder, arguments) in steps.items():
        run(what, [sys.executable, *arguments], folder, surroundings.umask, **variables)
    return Built(
        *(
            _only(target, pattern)
            for pattern in ("antiphon-*.whl", "*.tar.gz", "antiphon_verify-*.whl")
        )
    )


def _only(folder: Path, pattern: str) -> Path:
    (found,) = folder.glob(pattern)
    return found


def copy_tree(root: Path, target: Path, surroundings: Surroundings) -> None:
    """Copy what Git has or would add, as a machine with this `umask` would check it out."""
    listed = run(
        "Listing the tree",
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        root,
    )
    for name in listed.rstrip("\0").split("\0"):
        source = root / name
        copy = target / name
        if not source.is_file():  # deleted, and the deletion is not committed
            continue
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, copy)
        copy.chmod((0o777 if os.access(source, os.X_OK) else 0o666) & ~surroundings.umask)
        os.utime(copy, (surroundings.modified, surroundings.modified))


def differences(one: Path, other: Path) -> Iterator[str]:
    """Yield the members in which two archives differ, or the archive if only its own form does."""
    if digest(one) == digest(other):
        return
    ours = _members(one)
    theirs = _members(other)
    changed = sorted(
        name for name in ours.keys() | theirs.keys() if ours.get(name) != theirs.get(name)
    )
    yield from (f"{one.name}:{name}" for name in changed) if changed else (one.name,)


def _members(archive: Path) -> dict[str, tuple[object, ...]]:
    """Return name -> what is stored about each member of a wheel or an sdist."""
    if archive.suffix == ".whl":
        with ZipFile(archive) as wheel:
            return {
                one.filename: (one.CRC, one.date_time, one.external_attr)
                for one in wheel.infolist()
            }
    with tarfile.open(archive) as sdist:
        return {
            one.name: (_content(sdist, one), one.mtime, one.mode, one.uid, one.gid)
            for one in sdist.getmembers()
        }


def _content(sdist: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    opened = sdist.extractfile(member)
    return hashlib.sha256(opened.read()).digest() if opened else b""


def digest(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal."""
    return hashlib.sha256(path.read_bytes()).hexdigest()
