"""The images, built once. That takes minutes, so these tests run only where this folder is named:
`make test-image`.
"""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.system.deploy.proxies import DEPLOY
from tests.system.image import engine
from tests.system.image.running import USER, Box

HERE = Path(__file__).parent
FIGURES: list[str] = []
"""Sizes and times, printed after the tests."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--if-cached",
        action="store_true",
        help="skip these tests if the base image is not in the cache",
    )


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    named = [config.invocation_params.dir / one.partition("::")[0] for one in config.args]
    return None if any(path.resolve().is_relative_to(HERE) for path in named) else True


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Where no image can be built, keep one test, skipped with the reason: one line for all of
    them.
    """
    ours = [item for item in items if item.path.is_relative_to(HERE)]
    reason = engine.missing()
    if not reason and config.getoption("--if-cached", default=False) and not engine.has_base():
        reason = "the base image is not cached: `make test-image` makes it, once"
    if reason and ours:
        ours[0].add_marker(pytest.mark.skip(reason=f"all tests of images: {reason}"))
        config.hook.pytest_deselected(items=ours[1:])
        items[:] = [item for item in items if item not in ours[1:]]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if FIGURES:
        terminalreporter.section("images")
        terminalreporter.write_line("\n".join(FIGURES))


@contextmanager
def measured(what: str) -> Iterator[None]:
    """Add the time of a step, and the CPU seconds of its commands, to the figures."""
    began = time.monotonic()
    before = os.times()
    yield
    after = os.times()
    cpu = (
        after.children_user + after.children_system - before.children_user - before.children_system
    )
    FIGURES.append(f"{what}: {time.monotonic() - began:.0f} s ({cpu:.0f} s of CPU)")


@contextmanager
def _box(image: str, folder: Path) -> Iterator[Box]:
    volume = folder / "data"
    volume.mkdir()
    os.chown(
        volume, USER, USER
    )  # an engine creates a volume with the owner that /data has in the image
    with engine.container(image) as created:
        engine.buildah(
            "config", "--volume=/data-", created
        )  # buildah would mount a folder of its own over ours
        yield Box(created, image, volume)


@pytest.fixture(scope="session")
def base() -> str:
    """The name of the base image, which is made if the storage has none."""
    if not engine.has_base():
        with measured(f"{engine.BASE} made with debootstrap"):
            engine.make_base()
    engine.bound_storage()
    return engine.BASE


@pytest.fixture(scope="session")
def image(base: str) -> str:
    """The image of `deploy/Containerfile`."""
    with measured("deploy/Containerfile built"):
        engine.build("antiphon", DEPLOY / "Containerfile")
    FIGURES.append(
        f"antiphon: {engine.size('antiphon')} MB, of which the base {engine.size(base)} MB"
    )
    return "antiphon"


@pytest.fixture(scope="session")
def code_image(image: str) -> str:
    """The image of `deploy/Containerfile.code`, which starts from the other."""
    with measured("deploy/Containerfile.code built"):
        engine.build("antiphon-code", DEPLOY / "Containerfile.code")
    FIGURES.append(f"antiphon-code: {engine.size('antiphon-code')} MB")
    return "antiphon-code"


@pytest.fixture
def box(image: str, tmp_path: Path) -> Iterator[Box]:
    """A container with an empty volume."""
    with _box(image, tmp_path) as created:
        yield created


@pytest.fixture
def code_box(code_image: str, tmp_path: Path) -> Iterator[Box]:
    """A container that can run code, with an empty volume."""
    with _box(code_image, tmp_path) as created:
        yield created
