"""Images that buildah builds and runs as root, without a daemon, in a storage of its own below the
user's cache.

Every command has its own mount namespace, so nothing stays mounted after it, even if it is killed.
"""

import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.support.programs import PATH, find
from tests.system.deploy.proxies import DEPLOY

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "antiphon/images"
STORAGE = CACHE / "storage"
RUN = CACHE / "run"
BUILDAH = ("buildah", "--root", str(STORAGE), "--runroot", str(RUN))
BASE = re.findall(r"^FROM (\S+)", (DEPLOY / "Containerfile").read_text(), re.MULTILINE)[-1]
"""The name that the Containerfiles start from. Here a base of Debian's packages has it, so no image
is downloaded.
"""

PROGRAMS = ("buildah", "debootstrap", "unshare", "setpriv")
MOST_BYTES = 8_000_000_000
"""Of the storage: with more, the layers of earlier builds are deleted."""

BUNDLES = ("SSL_CERT_FILE", "PIP_CERT", "REQUESTS_CA_BUNDLE")
CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt"


def missing() -> str:
    """Return why this machine cannot build images, else an empty text."""
    absent = [name for name in PROGRAMS if find(name) is None]
    if absent:
        return f"MISSING PROGRAM: {', '.join(absent)} (Debian: apt-get install buildah debootstrap)"
    return "" if os.geteuid() == 0 else "buildah and debootstrap need root here"


def run(*command: str | Path, seconds: float = 60) -> str:
    """Run a command that succeeds, in its own mount namespace; return its output without the last
    newline.
    """
    done = subprocess.run(
        ["unshare", "--mount", *map(str, command)],
        capture_output=True, text=True, check=False, timeout=seconds, env={**os.environ, "PATH": PATH},  # noqa: E501 - one text, or a row of a table
    )  # fmt: skip
    assert done.returncode == 0, "\n".join(
        (*done.stdout.splitlines()[-40:], *done.stderr.splitlines()[-40:])
    )
    return done.stdout.strip()


def buildah(*arguments: str | Path, seconds: float = 60) -> str:
    """Run `buildah` with our storage; return its output without the last newline."""
    return run(*BUILDAH, *arguments, seconds=seconds)


def has_base() -> bool:
    """Whether the base is in the storage."""
    return STORAGE.exists() and bool(
        buildah("images", "--all", "--quiet", "--filter", f"reference={BASE}")
    )


def make_base() -> None:
    """Put a Debian with Python under the name that the Containerfiles start from into the
    storage.
    """
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder, "root")
        archive = Path(folder, "root.tar")
        packages = "python3-venv,python-is-python3,ca-certificates"
        run(
            "debootstrap", "--variant=minbase", f"--include={packages}", "trixie", root, seconds=900
        )
        # The official image has no bytecode of the standard library either.
        for cached in [*root.glob("usr/lib/python3*/**/__pycache__")]:
            shutil.rmtree(cached, ignore_errors=True)
        shutil.rmtree(root / "var/lib/apt/lists")
        run(
            "tar",
            "-C",
            root,
            "--exclude=./dev/*",
            "--exclude=./var/cache/apt/archives/*.deb",
            "-cf",
            archive,
            ".",
        )
        with container("scratch") as one:
            buildah("add", "--quiet", one, archive, "/", seconds=300)
            buildah("config", "--cmd", "python3", one)
            buildah("commit", "--quiet", one, BASE, seconds=300)


def bound_storage() -> None:
    """Delete everything but the base if the layers of earlier builds need too much space."""
    if sum(path.lstat().st_size for path in STORAGE.rglob("*")) > MOST_BYTES:
        base = buildah("images", "--quiet", "--no-trunc", BASE)
        everything = set(buildah("images", "--all", "--quiet", "--no-trunc").split())
        buildah("rmi", "--force", *(everything - {base}), seconds=300)


def build(name: str, file: Path) -> None:
    """Build an image from a file of `deploy/`, unmodified, with the certificates of this machine as
    volumes.
    """
    bundle = next((os.environ[name] for name in BUNDLES if os.environ.get(name)), CERTIFICATES)
    with tempfile.TemporaryDirectory() as folder:
        pip = Path(folder, "pip.conf")
        npm = Path(folder, "npmrc")
        pip.write_text(f"[global]\ncert = {CERTIFICATES}\n")
        npm.write_text(f"cafile={CERTIFICATES}\n")
        volumes = ((bundle, CERTIFICATES), (pip, "/etc/pip.conf"), (npm, "/root/.npmrc"))
        buildah(
            *("build", "--layers", "--isolation", "chroot", "--format", "docker", "--pull-never"),
            *(f"--volume={source}:{target}:ro" for source, target in volumes),
            *("--tag", name, "--file", file, DEPLOY.parent),
            seconds=900,
        )


def configuration(image: str) -> dict[str, Any]:
    """What the image tells an engine: `User`, `Env`, `Cmd`, `Healthcheck` and so on, as Docker
    names them.
    """
    found: dict[str, Any] = json.loads(buildah("inspect", "--type", "image", image))["Docker"][
        "config"
    ]
    return found


def size(image: str) -> int:
    """Megabytes of the image, uncompressed, with its base."""
    (found,) = json.loads(buildah("images", "--json", image))
    number, unit = found["size"].split()
    return round(float(number) * {"MB": 1, "GB": 1000}[unit])


@contextmanager
def container(image: str) -> Iterator[str]:
    """A container of the image, deleted afterwards."""
    created = buildah("from", "--pull-never", image, seconds=300)
    try:
        yield created
    finally:
        buildah("rm", created, seconds=300)
