"""The requirements file with hashes: which packages it has, and what it refuses."""

import pytest
from release.pins import Pin, page, parse, unpinned
from release.steps import ReleaseError

PYTHONS = ["3.11", "3.14"]
RESOLVED = """\
# a comment
alpha==1.0 \\
    --hash=sha256:aa \\
    --hash=sha256:bb
beta-two==2.1 ; python_full_version < '3.12' \\
    --hash=sha256:cc
"""
ALPHA = Pin("alpha", "1.0", "", ("sha256:aa", "sha256:bb"))
BETA = Pin("beta-two", "2.1", "python_full_version < '3.12'", ("sha256:cc",))


def test_each_version_is_read_with_its_marker_and_hashes() -> None:
    assert list(parse(RESOLVED)) == [ALPHA, BETA]


def test_the_file_is_read_as_it_is_written_and_has_no_address() -> None:
    written = page([ALPHA, BETA], "0.1.0", PYTHONS)
    assert list(parse(written)) == [ALPHA, BETA]
    assert "for Python 3.11 to 3.14" in written
    assert "://" not in written


@pytest.mark.parametrize(
    "line", ["alpha==1.0", "alpha>=1.0 --hash=sha256:aa", "--index-url x", "./alpha.whl"]
)
def test_a_line_without_an_exact_version_and_a_hash_is_an_error(line: str) -> None:
    with pytest.raises(ReleaseError, match="not a version with hashes"):
        list(parse(line))


@pytest.mark.parametrize(
    ("marker", "is_needed"),
    [
        ("", True),
        ("python_full_version < '3.14'", True),
        ("python_version >= '3.14'", True),
        ("python_full_version < '3.11'", False),
        ("sys_platform != 'win32'", True),
        ("sys_platform == 'win32'", False),
        ("sys_platform == 'darwin' and python_version < '3.12'", True),
    ],
)
def test_a_package_remains_if_a_supported_platform_needs_it(
    marker: str, *, is_needed: bool
) -> None:
    assert Pin("alpha", "1.0", marker, ("sha256:aa",)).is_needed(PYTHONS) is is_needed


def test_a_version_that_the_constraints_do_not_have_is_named() -> None:
    assert list(unpinned([ALPHA, BETA], "# pins\nalpha==1.0\nBeta.Two==2.1\n")) == []
    assert list(unpinned([ALPHA, BETA], "alpha==1.1\n")) == ["alpha 1.0", "beta-two 2.1"]
