"""What is read of installed packages and of the console's bundle."""

import json
from pathlib import Path
from zipfile import ZipFile

import pytest
from release.components import BUNDLED, Component, bundled, check_complete, installed
from release.steps import ReleaseError


def package(site: Path, name: str, *fields: str, **files: str) -> None:
    """Install a package: lines of its metadata, and files of its `.dist-info` by their name."""
    folder = site / f"{name}-1.0.dist-info"
    folder.mkdir()
    metadata = "\n".join(("Metadata-Version: 2.4", f"Name: {name}", "Version: 1.0", *fields))
    contents = {"METADATA": metadata} | {
        file.replace("__", "/"): text for file, text in files.items()
    }
    for file, text in contents.items():
        (folder / file).parent.mkdir(exist_ok=True)
        (folder / file).write_text(text)
    (folder / "RECORD").write_text("".join(f"{folder.name}/{file},,\n" for file in contents))


def test_a_package_is_followed_by_all_that_it_and_the_extra_require(tmp_path: Path) -> None:
    package(
        tmp_path,
        "top",
        "Requires-Dist: One",
        "Requires-Dist: two[fast]; extra == 'all'",
        "Provides-Extra: all",
    )
    package(tmp_path, "one", "Requires-Dist: three; python_version < '3'")
    package(
        tmp_path,
        "two",
        "Requires-Dist: four; extra == 'fast'",
        "Requires-Dist: five; extra == 'slow'",
    )
    package(tmp_path, "four", "Requires-Dist: one")

    found = {one.name: one.needs for one in installed(tmp_path, "top", "all")}

    assert found == {"top": ("one", "two"), "one": (), "two": ("four",), "four": ("one",)}
    assert next(iter(found)) == "top"


def test_a_required_package_that_is_missing_is_an_error(tmp_path: Path) -> None:
    package(tmp_path, "top", "Requires-Dist: one")
    with pytest.raises(ReleaseError, match="The package one is required, and it is not installed"):
        installed(tmp_path, "top", "")


@pytest.mark.parametrize(
    ("fields", "licence"),
    [
        (["License-Expression: MIT", "License: other"], "MIT"),
        (["Classifier: License :: OSI Approved :: MIT License", "License: other"], "MIT License"),
        (["License: BSD-3-Clause"], "BSD-3-Clause"),
        (["License: Apache License", "        Version 2.0"], "Apache License"),
        ([], "not stated"),
    ],
)
def test_the_most_exact_field_names_the_licence(
    tmp_path: Path, fields: list[str], licence: str
) -> None:
    package(tmp_path, "top", *fields)
    assert installed(tmp_path, "top", "")[0].licence == licence


def test_the_texts_of_a_licence_are_read_wherever_packages_put_them(tmp_path: Path) -> None:
    package(
        tmp_path, "top", licenses__COPYING="one", LICENCE="two", NOTICE="three", entry_points="four"
    )
    assert set(installed(tmp_path, "top", "")[0].texts) == {"one", "two", "three"}


def test_the_packages_in_the_console_are_read_from_the_wheel(tmp_path: Path) -> None:
    wheel = tmp_path / "a.whl"
    with ZipFile(wheel, "w") as archive:
        listed = [
            {"name": "@preact/signals", "version": "2.0", "identifier": "MIT", "text": "Text."}
        ]
        archive.writestr(BUNDLED, json.dumps(listed))
    assert bundled(wheel) == [Component("npm", "@preact/signals", "2.0", "MIT", ("Text.",))]


def test_a_wheel_without_a_console_is_an_error(tmp_path: Path) -> None:
    wheel = tmp_path / "a.whl"
    with ZipFile(wheel, "w"):
        pass
    with pytest.raises(ReleaseError, match="build it with the console"):
        bundled(wheel)


def test_a_pinned_package_that_this_python_does_not_install_is_an_error() -> None:
    one = Component("pypi", "one-two", "1.0", "MIT")
    check_complete([one], ["One_Two"], "3.14.0")
    with pytest.raises(
        ReleaseError, match=r"Python 3\.14\.0 does not install three, .* PYTHON=python3\.11"
    ):
        check_complete([one], ["One_Two", "three"], "3.14.0")
