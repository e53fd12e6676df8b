"""Which directories and links a Python needs in a machine."""

import sys
from pathlib import Path

import pytest

from antiphon.sandbox.contract import SandboxError
from antiphon.sandbox.environment import SYSTEM, find_environment, is_below


def test_the_servers_python_needs_no_environment() -> None:
    found = find_environment("")
    assert Path(found.executable).exists()
    assert not any(is_below(each, "/usr") for each in found.binds)
    assert sys.prefix == sys.base_prefix or sys.prefix not in found.binds


def test_links_on_the_way_are_created_again(tmp_path: Path) -> None:
    base = Path(find_environment("").executable)
    versions = tmp_path / "versions"
    versions.mkdir()
    (versions / "python-3").symlink_to(base)
    (tmp_path / "current").symlink_to("versions")
    found = find_environment(str(tmp_path / "current" / "python-3"))
    assert (str(tmp_path / "current"), "versions") in found.links
    assert (str(versions / "python-3"), str(base)) in found.links
    assert not any(is_below(link, each) for link, _ in found.links for each in SYSTEM)
    assert found.path.split(":")[0] == str(tmp_path / "current")


@pytest.mark.parametrize("program", ["#!/bin/sh\nexit 1\n", "#!/bin/sh\necho '{'\n"])
def test_a_python_that_does_not_start_is_named(tmp_path: Path, program: str) -> None:
    python = tmp_path / "python"
    python.write_text(program)
    python.chmod(0o755)
    with pytest.raises(SandboxError, match=str(python)):
        find_environment(str(python))
