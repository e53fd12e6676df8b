"""`deploy/Containerfile` and `.dockerignore`: the files that the package needs, and commands that
run.

These tests need no container engine: what the steps of the build do is done in a folder instead.
`make test-image` builds the image and runs it.
"""

import asyncio
import fnmatch
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from zipfile import ZipFile

import pytest
from bench.ports import free_port

from antiphon.config import PREFIX, Settings
from antiphon.version import __version__
from tests.support.command import serving
from tests.system.deploy.proxies import DEPLOY

ROOT = DEPLOY.parent
CONTAINER = (DEPLOY / "Containerfile").read_text()
IGNORED = [
    line
    for line in (ROOT / ".dockerignore").read_text().splitlines()
    if line and not line.startswith("#")
]
HEALTHCHECK = re.search(r"^HEALTHCHECK [^\\]*\\\n\s+CMD (\[.*\])$", CONTAINER, re.MULTILINE)


def is_sent(path: str) -> bool:
    """Whether a file is in the build's context: the last pattern that fits decides, as
    `.dockerignore` has it.
    """
    sent = True
    for line in IGNORED:
        pattern = line.removeprefix("!")
        keeps = line.startswith("!")
        anywhere = pattern.removeprefix("**/")
        places = Path(path).parts if anywhere != pattern else [path, *map(str, Path(path).parents)]
        if any(fnmatch.fnmatch(one, anywhere) for one in places):
            sent = keeps
    return sent


def context(folder: Path) -> None:
    """Copy what a build gets."""
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    for name in filter(is_sent, listed.split("\0")[:-1]):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)


def test_the_build_gets_the_package_and_nothing_else(tmp_path: Path) -> None:
    context(tmp_path)

    sent = {path.name for path in tmp_path.iterdir()}
    assert sent == {
        "LICENSE",
        "README.md",
        "console",
        "constraints.txt",
        "constraints-code.txt",
        "pyproject.toml",
        "src",
        "verify",
    }
    assert not any(
        is_sent(name)
        for name in (".git/config", ".venv/bin/python", "antiphon.db", "tests/conftest.py")
    )
    assert not is_sent("src/antiphon/__pycache__/x.pyc")
    assert not is_sent("src/antiphon/server/console/static/index.html")


@pytest.mark.rotating
def test_both_packages_build_from_what_the_build_gets(tmp_path: Path) -> None:
    source = tmp_path / "source"
    out = tmp_path / "out"
    source.mkdir()
    context(source)
    build = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-deps",
        "--retries",
        "1",
        "--wheel-dir",
        str(out),
        ".",
        "./verify",
    ]
    done = subprocess.run(
        build, cwd=source, capture_output=True, text=True, check=False, env=os.environ
    )
    if "No matching distribution found for hatchling" in done.stderr:
        pytest.skip(f"pip cannot get hatchling: {done.stderr.strip()[-200:]}")
    assert done.returncode == 0, done.stderr
    wheel, checker = sorted(out.iterdir())
    assert wheel.name.startswith(f"antiphon-{__version__}-")
    assert checker.name.startswith(f"antiphon_verify-{__version__}-")
    assert {"antiphon_verify/html/page.html", "antiphon_verify/profiles/vllm.toml"} <= set(
        ZipFile(checker).namelist()
    )
    names = ZipFile(wheel).namelist()
    assert {"antiphon/py.typed", "antiphon/cli/main.py"} <= set(names)
    assert sum(name.endswith(".sql") for name in names) > 0


def test_the_image_starts_the_server_with_settings_that_exist() -> None:
    command = re.search(r"^CMD (.*)$", CONTAINER, re.MULTILINE)
    assert command is not None
    assert json.loads(command[1]) == ["antiphon", "serve"]
    # Variables take precedence over a settings file, so the image has only those of the container
    # itself.
    variables = re.findall(rf"{PREFIX}(\w+)=", CONTAINER.rpartition("\nENV ")[2])
    assert {name.lower() for name in variables} == {"host", "port"}
    assert "\nENV HOME=/data " in CONTAINER
    assert Settings().store.startswith("sqlite:///~/")
    assert f"ANTIPHON_PORT={Settings().port}\n" in CONTAINER
    assert f"EXPOSE {Settings().port}\n" in CONTAINER
    assert "STOPSIGNAL SIGTERM" in CONTAINER


def test_the_server_runs_as_an_ordinary_user() -> None:
    last = CONTAINER.rpartition("\nFROM ")[2]
    assert re.findall(r"^USER (.*)$", last, re.MULTILINE) == ["10001"]
    assert "useradd --uid 10001" in last
    assert "RUN" not in last.partition("\nUSER ")[2]


def test_the_image_with_code_has_the_packages_of_the_tests_and_settings_that_exist() -> None:
    image = (DEPLOY / "Containerfile.code").read_text()
    named = re.search(r"^CODE_PACKAGES := (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    variables = re.findall(rf"{PREFIX}(\w+)=", image)

    assert named is not None
    assert f"--constraint /constraints-code.txt {named[1]} " in image
    assert is_sent("constraints-code.txt")
    assert re.findall(r"^USER (.*)$", image, re.MULTILINE) == ["root", "10001"]
    assert {name.lower() for name in variables} <= set(Settings.__struct_fields__)


def test_every_stage_has_a_python_that_the_package_allows() -> None:
    images = re.findall(r"^FROM (\S+)", CONTAINER, re.MULTILINE)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

    assert len(images) == 2
    assert len(set(images)) == 1
    found = re.fullmatch(r"docker\.io/library/python:3\.(\d+)-slim", images[0])
    assert found is not None
    assert project["requires-python"] == ">=3.11"
    assert int(found[1]) >= 11


async def test_the_health_check_distinguishes_a_server_from_none(tmp_path: Path) -> None:
    assert HEALTHCHECK is not None
    python, *arguments = json.loads(HEALTHCHECK[1])
    assert python == "python"

    async def check(port: int) -> int:
        variables = {**os.environ, "ANTIPHON_PORT": str(port)}
        process = await asyncio.create_subprocess_exec(
            sys.executable, *arguments, env=variables, stderr=-3
        )
        return await process.wait()

    port = free_port()
    assert await check(port) == 1
    async with serving(tmp_path, "--port", str(port), "--store", "sqlite://"):
        assert await check(port) == 0
