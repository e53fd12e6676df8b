"""Modules that cannot be loaded: the error names the package and its version."""

import sys
from collections.abc import Iterator
from importlib import invalidate_caches
from pathlib import Path

import pytest

from antiphon.errors import ConfigError
from antiphon.packages import (
    BrokenPackageError,
    described,
    load_module,
    load_optional,
    problem_with,
    require_module,
)
from tests.support.packages import BREAKS, write_broken, write_package

NAME = "package_of_tests"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder in which Python finds packages, until the end of the test."""
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    for name in [name for name in sys.modules if name.partition(".")[0] == NAME]:
        del sys.modules[name]
    for remembered in (problem_with, load_module, load_optional):
        remembered.cache_clear()


@pytest.mark.parametrize("how", BREAKS)
def test_what_breaks_is_named_with_its_version_the_reason_and_the_remedy(
    folder: Path, how: str
) -> None:
    reason = write_broken(folder, NAME, how)
    invalidate_caches()
    problem = problem_with(NAME)
    assert problem.startswith(f"{NAME} 99.1 cannot be loaded: {reason}")
    assert f"pip install --force-reinstall {NAME}" in problem
    assert f"pip install '{NAME}<99.1'" in problem


def test_the_package_with_the_missing_name_is_at_fault_not_the_importing_module(
    folder: Path,
) -> None:
    write_package(folder, NAME, "")
    (folder / "package_of_tests_user.py").write_text(f"from {NAME}.frames import OP_CONT\n")
    invalidate_caches()
    assert problem_with("package_of_tests_user").startswith(
        f"{NAME} 99.1 cannot be loaded: cannot import name"
    )


def test_a_package_that_is_not_there_is_to_be_installed() -> None:
    problem = problem_with("package_that_is_nowhere.part")
    assert problem == (
        "package_that_is_nowhere cannot be loaded: No module named 'package_that_is_nowhere'. "
        "Install it."
    )


def test_everything_loadable_is_returned_in_any_form_of_request(folder: Path) -> None:
    write_package(folder, NAME, "VALUE = 1")
    invalidate_caches()
    assert problem_with(NAME) == ""
    assert (
        load_module(NAME) is load_optional(NAME) is require_module(NAME, "X") is sys.modules[NAME]
    )
    assert described(f"{NAME}.frames") == f"{NAME} 99.1"


def test_a_request_that_needs_it_learns_nothing_of_it_and_the_log_has_the_reason_once(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write_broken(folder, NAME)
    invalidate_caches()
    for _ in range(2):
        with pytest.raises(BrokenPackageError) as raised:
            load_module(NAME)
    assert (raised.value.status, raised.value.code) == (400, "unsupported_value")
    assert NAME not in f"{raised.value} {raised.value.body()}"
    assert [record.getMessage() for record in caplog.records] == [problem_with(NAME)]
    assert load_optional(NAME) is None


def test_a_setting_that_needs_it_is_named(folder: Path) -> None:
    write_broken(folder, NAME)
    invalidate_caches()
    with pytest.raises(ConfigError, match=rf"^The setting a .*{NAME} 99\.1 "):
        require_module(NAME, "The setting a")


@pytest.mark.parametrize(
    "error", ["OSError(errno.EMFILE, os.strerror(errno.EMFILE), 'x')", "MemoryError()"]
)
def test_what_lacks_memory_or_descriptors_is_loaded_later(folder: Path, error: str) -> None:
    write_package(
        folder, NAME, f"import errno, os, sys\nif sys.path[-1] == 'full':\n    raise {error}\n"
    )
    invalidate_caches()
    sys.path.append("full")
    try:
        for _ in range(2):
            with pytest.raises((OSError, MemoryError)):
                load_module(NAME)
    finally:
        sys.path.remove("full")
    assert load_module(NAME) is sys.modules[NAME]


def test_an_optional_package_that_is_not_there_is_no_news(caplog: pytest.LogCaptureFixture) -> None:
    assert load_optional("package_that_is_nowhere") is None
    assert load_optional("package_that_is_nowhere.part") is None
    assert not caplog.records


def test_of_packages_that_share_a_name_the_one_with_the_module_is_named() -> None:
    assert described("opentelemetry.sdk.trace").startswith("opentelemetry-sdk ")
    assert described("opentelemetry.exporter.otlp.proto.http").startswith(
        "opentelemetry-exporter-otlp-proto-http "
    )
