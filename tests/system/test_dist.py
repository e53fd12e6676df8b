"""The wheels and the sdist: that two builds are equal, what the wheel needs, how large it is, and
that it serves.

It serves with every supported Python of this machine. The one of the tests gets its packages from
the environment of the tests, the others from the package index, by way of uv's cache.
"""

import asyncio
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import venv
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from importlib.metadata import distribution
from pathlib import Path
from zipfile import ZipFile

import aiohttp
import pytest
from aiohttp.test_utils import TestServer
from packaging.requirements import Requirement
from release.building import BUILDS, build_twice, digest

from antiphon.cli.demo_backend import demo_app
from antiphon.upstream.demo.backend import DemoBackend
from tests.support import pythons
from tests.support.command import PATIENCE, environment
from tests.support.programs import find, needs

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples/sdk.py"
USUAL_SERVER = "http://127.0.0.1:8321/v1"

needs_npm = needs(find("npm"), "npm")

MOST_PACKAGES = 25
MOST_BYTES = 50_000_000
"""Of the core on disk, without the bytecode that Python or pip writes."""


def run(*command: str | Path, **variables: str) -> str:
    """Run a command that succeeds; return its output."""
    done = subprocess.run(
        [str(part) for part in command],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | variables,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of two builds of this tree, as `make release` makes them; without npm they have no
    console.
    """
    folder = tmp_path_factory.mktemp("release")
    build_twice(ROOT, folder, console="required" if find("npm") else "skip")
    return folder


@pytest.fixture(scope="module")
def wheel(work: Path) -> Path:
    """A wheel of this tree."""
    (found,) = (work / BUILDS[0].folder).glob("dist/antiphon-*.whl")
    return found


@pytest.fixture(scope="module")
def verify_wheel(work: Path) -> Path:
    """The wheel of antiphon-verify of this tree."""
    (found,) = (work / BUILDS[0].folder).glob("dist/antiphon_verify-*.whl")
    return found


@pytest.fixture(scope="module")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment that has the wheel and, from the environment of the tests, what
    it requires.
    """
    return installed("antiphon", wheel, tmp_path_factory.mktemp("empty"))


def installed(package: str, wheel: Path, home: Path) -> Path:
    """Install a wheel into a new environment, with the installed packages that it requires; return
    its Python.
    """
    venv.create(home, symlinks=True)
    own = home / "bin/python"
    run(
        sys.executable,
        "-m",
        "pip",
        "--python",
        own,
        "install",
        "--quiet",
        "--no-index",
        "--no-deps",
        wheel,
    )
    for name in required(package):
        copy(name, site_of(own))
    return own


def site_of(python: Path) -> Path:
    """Return where the packages of an environment are."""
    return Path(run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip())


def required(name: str) -> set[str]:
    """Every package that a package requires, without its extras."""
    found: set[str] = set()
    waiting = [name]
    while waiting:
        for line in distribution(waiting.pop()).requires or ():
            requirement = Requirement(line)
            if requirement.marker is not None and not requirement.marker.evaluate({"extra": ""}):
                continue
            if requirement.name not in found:
                found.add(requirement.name)
                waiting.append(requirement.name)
    return found


def copy(name: str, site: Path) -> None:
    """Copy an installed package, without its bytecode and its commands."""
    base = Path(sysconfig.get_path("purelib"))
    for file in distribution(name).files or ():
        source = Path(str(distribution(name).locate_file(file))).resolve()
        if (
            source.suffix == ".pyc"
            or not source.is_relative_to(base.resolve())
            or not source.is_file()
        ):
            continue
        target = site / source.relative_to(base.resolve())
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, target)


def test_the_core_is_small(python: Path) -> None:
    site = site_of(python)
    files = [path for path in site.rglob("*") if path.is_file() and path.suffix != ".pyc"]
    assert len(list(site.glob("*.dist-info"))) <= MOST_PACKAGES
    assert sum(path.stat().st_size for path in files) <= MOST_BYTES
    run(sys.executable, "-m", "pip", "--python", python, "check")


def test_the_wheel_has_the_package_alone(wheel: Path) -> None:
    assert {name.partition("/")[0].partition("-")[0] for name in ZipFile(wheel).namelist()} == {
        "antiphon"
    }


def test_both_wheels_have_one_version(wheel: Path, verify_wheel: Path) -> None:
    assert verify_wheel.name.partition("-")[2] == wheel.name.partition("-")[2]
    packages = {
        name.partition("/")[0].partition("-")[0] for name in ZipFile(verify_wheel).namelist()
    }
    assert packages == {"antiphon_verify"}


async def test_the_wheel_of_the_conformance_checker_judges_a_server_alone(
    verify_wheel: Path, tmp_path: Path
) -> None:
    own = installed("antiphon-verify", verify_wheel, tmp_path / "alone")
    run(sys.executable, "-m", "pip", "--python", own, "check")
    assert not (site_of(own) / "antiphon").exists()
    flags = ("--only", "chat:answer", "--profile", "vllm", "--html", tmp_path / "report.html")
    async with TestServer(demo_app(DemoBackend())) as model:
        command = (own.parent / "antiphon-verify", "--base-url", str(model.make_url("/v1")), *flags)
        printed = await asyncio.to_thread(run, *command, PYTHONPATH="")
    assert "meets every must that was judged" in printed
    assert "<html" in (tmp_path / "report.html").read_text()


@needs_npm
def test_the_wheel_has_the_console_with_compressed_copies(wheel: Path) -> None:
    inside = "antiphon/server/console/static/"
    files = {
        name.removeprefix(inside) for name in ZipFile(wheel).namelist() if name.startswith(inside)
    }
    assert "index.html" in files
    plain = {name for name in files if not name.endswith(".gz")}
    assert {Path(name).suffix for name in plain} >= {".html", ".js", ".css"}
    assert files - plain == {f"{name}.gz" for name in plain}


def install(wheel: Path, python: Path, home: Path) -> Path:
    """Install a wheel for a Python from the package index; return the Python of the new
    environment.
    """
    uv = Path(sys.executable).parent / "uv"
    run(uv, "venv", "--quiet", "--python", python, home)
    own = home / "bin/python"
    command = [
        uv,
        "pip",
        "install",
        "--quiet",
        "--python",
        own,
        "--constraint",
        ROOT / "constraints.txt",
        wheel,
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if "Failed to fetch" in done.stderr:
        pytest.skip(f"The package index is unreachable: {done.stderr.strip()}")
    assert done.returncode == 0, done.stderr
    return own


@pytest.fixture(scope="module", params=pythons.SUPPORTED)
def each_python(
    request: pytest.FixtureRequest, wheel: Path, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """The Python of an environment with the wheel, for each version that Antiphon supports."""
    version: str = request.param
    if version == pythons.OWN:
        own: Path = request.getfixturevalue("python")
        return own
    found = pythons.find(version)
    if found is None:
        pytest.skip(f"MISSING PROGRAM: python{version}")
    return install(wheel, found, tmp_path_factory.mktemp("python") / version)


def test_two_builds_are_equal(work: Path) -> None:
    for kind in ("antiphon-*.whl", "antiphon_verify-*.whl", "*.tar.gz"):
        built = [path for one in BUILDS for path in (work / one.folder / "dist").glob(kind)]
        assert len(built) == len(BUILDS)
        assert len({digest(path) for path in built}) == 1


@asynccontextmanager
async def serving(command: Path, home: Path, backend: str) -> AsyncIterator[str]:
    """Run an installed `antiphon serve` until the end of the block; the value is its address."""
    variables = environment(home, PYTHONPATH="")
    arguments = ("serve", "--port", "0", "--store", "sqlite://", "--backend", backend)
    with (home / "log").open("w") as log:
        server = await asyncio.create_subprocess_exec(
            command, *arguments, cwd=home, env=variables, stdout=asyncio.subprocess.PIPE, stderr=log
        )
        assert server.stdout is not None
        try:
            async with asyncio.timeout(PATIENCE):
                while not (
                    address := re.search(
                        rb"http://127\.0\.0\.1:\d+(?=/v1;)", await server.stdout.readline()
                    )
                ):
                    assert not server.stdout.at_eof(), (home / "log").read_text()
            yield address[0].decode()
        finally:
            with suppress(ProcessLookupError):
                server.terminate()
            await server.communicate()


async def test_the_wheel_serves_the_ten_lines_and_the_console(
    each_python: Path, tmp_path: Path
) -> None:
    example = tmp_path / "ten_lines.py"
    async with (
        TestServer(demo_app(DemoBackend())) as model,
        serving(each_python.parent / "antiphon", tmp_path, str(model.make_url("/v1"))) as address,
    ):
        example.write_text(EXAMPLE.read_text().replace(USUAL_SERVER, f"{address}/v1"))
        printed = await asyncio.to_thread(run, sys.executable, example)
        async with aiohttp.request("GET", f"{address}/console/") as reply:
            page = await reply.text()
    assert printed.splitlines()[-1] == "Your name is Ada."
    assert ("assets/" in page) == bool(find("npm"))
