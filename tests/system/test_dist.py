"""The wheel, installed into an empty environment: what it needs, how large it is, and that it serves."""

import asyncio
import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from importlib.metadata import distribution
from pathlib import Path
from zipfile import ZipFile

import pytest
from aiohttp.test_utils import TestServer
from packaging.requirements import Requirement

from antiphon.cli.demo_backend import demo_app
from antiphon.upstream.demo.backend import DemoBackend
from tests.support.command import serving
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
        [str(part) for part in command], capture_output=True, text=True, check=False, env=os.environ | variables
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel that `make dist` builds."""
    folder = tmp_path_factory.mktemp("dist")
    source = folder / "source"
    shutil.copytree(ROOT / "src", source / "src", ignore=shutil.ignore_patterns("__pycache__", "static"))
    shutil.copytree(ROOT / "console", source / "console", ignore=shutil.ignore_patterns("node_modules"))
    for name in ("pyproject.toml", "README.md", "LICENSE", ".gitignore"):
        shutil.copy(ROOT / name, source)
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-d", folder], cwd=source, check=True)
    assert [path.suffixes[-2:] for path in folder.glob("*.gz")] == [[".tar", ".gz"]]
    (found,) = folder.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment that has the wheel and, from the environment of the tests, what it requires."""
    home = tmp_path_factory.mktemp("empty")
    venv.create(home, symlinks=True)
    own = home / "bin/python"
    run(sys.executable, "-m", "pip", "--python", own, "install", "--quiet", "--no-index", "--no-deps", wheel)
    for name in required("antiphon"):
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
        if source.suffix == ".pyc" or not source.is_relative_to(base.resolve()) or not source.is_file():
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
    assert {name.partition("/")[0].partition("-")[0] for name in ZipFile(wheel).namelist()} == {"antiphon"}


@needs_npm
def test_the_wheel_has_the_console_with_compressed_copies(wheel: Path) -> None:
    inside = "antiphon/server/console/static/"
    files = {name.removeprefix(inside) for name in ZipFile(wheel).namelist() if name.startswith(inside)}
    assert "index.html" in files
    plain = {name for name in files if not name.endswith(".gz")}
    assert {Path(name).suffix for name in plain} >= {".html", ".js", ".css"}
    assert files - plain == {f"{name}.gz" for name in plain}


async def test_the_wheel_serves_the_ten_lines(python: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    example = tmp_path / "ten_lines.py"
    async with TestServer(demo_app(DemoBackend())) as model:
        url = str(model.make_url("/v1"))
        with monkeypatch.context() as patched:
            patched.setattr(sys, "executable", str(python))
            patched.delenv("PYTHONPATH", raising=False)
            served = serving(tmp_path, "--port", "0", "--store", "sqlite://", "--backend", url, is_fresh=True)
            server = await served.__aenter__()
        try:
            example.write_text(EXAMPLE.read_text().replace(USUAL_SERVER, server.url))
            printed = await asyncio.to_thread(run, sys.executable, example)
        finally:
            await served.__aexit__(None, None, None)
    assert printed.splitlines()[-1] == "Your name is Ada."
