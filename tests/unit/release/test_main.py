"""What `make release` leaves in dist/."""

from hashlib import sha256
from pathlib import Path

from release.__main__ import publish, supported_pythons


def test_the_folder_has_the_files_and_their_hashes_and_nothing_of_an_earlier_release(
    tmp_path: Path,
) -> None:
    target = tmp_path / "dist"
    target.mkdir()
    (target / "old.whl").touch()
    for name in ("b.whl", "a.tar.gz"):
        (tmp_path / name).write_text(name)

    publish([tmp_path / "b.whl", tmp_path / "a.tar.gz"], target)

    assert {path.name for path in target.iterdir()} == {"a.tar.gz", "b.whl", "SHA256SUMS"}
    expected = [f"{sha256(name.encode()).hexdigest()}  {name}" for name in ("a.tar.gz", "b.whl")]
    assert (target / "SHA256SUMS").read_text().splitlines() == expected


def test_the_pins_are_for_every_python_that_the_package_names() -> None:
    pythons = supported_pythons()
    assert pythons[0] == "3.11"
    assert pythons == sorted(pythons)
