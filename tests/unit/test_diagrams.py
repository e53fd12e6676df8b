"""Each committed diagram is what `make diagrams` draws from its source, and readable by a screen
reader.
"""

from xml.etree import ElementTree as ET

import pytest
from scripts.diagrams import IMAGES, ROOT, SOURCES, Box, Diagram, load, svg

NAMES = sorted(source.stem for source in SOURCES.glob("*.toml"))
SVG = "{http://www.w3.org/2000/svg}"

per_diagram = pytest.mark.parametrize("name", NAMES)


@per_diagram
def test_a_diagram_matches_its_source(name: str) -> None:
    assert (IMAGES / f"{name}.svg").read_text() == svg(load(SOURCES / f"{name}.toml")), (
        "run: make diagrams"
    )


@per_diagram
def test_a_diagram_has_a_title_a_description_and_nothing_from_elsewhere(name: str) -> None:
    text = (IMAGES / f"{name}.svg").read_text()
    drawing = ET.fromstring(text)
    described = [(drawing.findtext(SVG + tag) or "").strip() for tag in ("title", "desc")]

    assert drawing.get("aria-labelledby") == "title description"
    assert all(described)
    assert not any(
        word in text.replace('xmlns="http://', "")
        for word in ("://", "@font-face", "data:", "<image")
    )


@per_diagram
def test_a_diagram_is_displayed_on_a_page(name: str) -> None:
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    assert any(f"images/{name}.svg)" in page.read_text() for page in pages)


def test_every_drawing_has_a_source() -> None:
    drawn = {"growth"}  # from measurements: `test_bench_pages.py`
    assert {image.stem for image in IMAGES.glob("*.svg")} == {*NAMES, *drawn}


@pytest.mark.parametrize(
    ("box", "problem"),
    [
        (Box(at=(0, 0), size=(100, 40), title="A title that is much too long"), "too wide"),
        (Box(at=(0, 0), size=(300, 30), title="One", lines=("two", "three")), "too low"),
    ],
)
def test_a_text_that_does_not_fit_is_an_error(box: Box, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        svg(Diagram(title="A", description="B", height=100, box=(box,)))
