"""The software bill of materials: what it lists, and that the same release has the same
document.
"""

import json
from typing import Any

from release.components import Component
from release.sbom import document

WHEEL = "ab" * 32
OWN = Component("pypi", "antiphon", "0.1.0", "Apache-2.0", needs=("one",))
NEEDED = [
    Component("pypi", "one", "1.0", "Apache-2.0 OR MIT", needs=("two",)),
    Component("pypi", "two", "2.0", "Some licence of its own"),
    Component("pypi", "three", "3.0", "not stated"),
]
BUNDLED = [Component("npm", "@preact/signals", "2.0", "MIT")]


def read(wheel: str = WHEEL, epoch: int = 1_700_000_000) -> dict[str, Any]:
    listed: dict[str, Any] = json.loads(document(OWN, NEEDED, BUNDLED, wheel, epoch))
    return listed


def test_every_package_is_listed_by_its_package_url_and_licence() -> None:
    listed = {one["purl"]: one.get("licenses") for one in read()["components"]}
    assert listed == {
        "pkg:pypi/one@1.0": [{"expression": "Apache-2.0 OR MIT"}],
        "pkg:pypi/two@2.0": [{"license": {"name": "Some licence of its own"}}],
        "pkg:pypi/three@3.0": None,
        "pkg:npm/%40preact/signals@2.0": [{"license": {"id": "MIT"}}],
    }


def test_antiphon_is_the_subject_with_the_hash_of_its_wheel() -> None:
    subject = read()["metadata"]["component"]
    assert (subject["purl"], subject["type"]) == ("pkg:pypi/antiphon@0.1.0", "application")
    assert subject["hashes"] == [{"alg": "SHA-256", "content": WHEEL}]


def test_the_graph_has_what_each_package_needs_and_what_is_bundled() -> None:
    graph = {one["ref"]: one.get("dependsOn", []) for one in read()["dependencies"]}
    assert graph == {
        "pkg:pypi/antiphon@0.1.0": ["pkg:npm/%40preact/signals@2.0", "pkg:pypi/one@1.0"],
        "pkg:pypi/one@1.0": ["pkg:pypi/two@2.0"],
        "pkg:pypi/two@2.0": [],
        "pkg:pypi/three@3.0": [],
        "pkg:npm/%40preact/signals@2.0": [],
    }


def test_the_same_release_has_the_same_document_and_another_wheel_another_number() -> None:
    assert read() == read()
    assert read()["metadata"]["timestamp"] == "2023-11-14T22:13:20+00:00"
    assert read()["serialNumber"] != read(wheel="cd" * 32)["serialNumber"]
