"""Which links in a text cite a file that code made, and where."""

import json
from pathlib import Path
from typing import Any

import pytest

from antiphon.protocol.sources import CreatedFile
from antiphon.translation.file_links import MOST_AFTER, MOST_LINKS, FileLinks
from tests.support.notebooks import created
from tests.support.recordings import FOLDER, MISSING


def cited(text: str, *files: CreatedFile) -> list[str]:
    """What each citation covers."""
    return [
        text[one["start_index"] : one["end_index"]] for one in FileLinks(files).annotations(text)
    ]


@pytest.mark.parametrize(
    ("text", "covered"),
    [
        ("See [the chart](sandbox:/mnt/data/a.png).", "sandbox:/mnt/data/a.png"),
        ("![chart](sandbox:/mnt/data/a.png)", "sandbox:/mnt/data/a.png"),
        ("[a](sandbox:///mnt/data/a.png)", "sandbox:///mnt/data/a.png"),
        ("[a](sandbox:mnt/data/a.png)", "sandbox:mnt/data/a.png"),
        ("[a](<sandbox:/mnt/data/a.png>)", "sandbox:/mnt/data/a.png"),
        ('[a](sandbox:/mnt/data/a.png "Chart")', "sandbox:/mnt/data/a.png"),
        ("[a](/mnt/data/a.png)", "/mnt/data/a.png"),
        ("[a](</mnt/data/a.png>)", "/mnt/data/a.png"),
        ("[a](file:///mnt/data/a.png)", "file:///mnt/data/a.png"),
        ("It is at sandbox:/mnt/data/a.png.", "sandbox:/mnt/data/a.png"),
        ("It is `sandbox:/mnt/data/a.png`", "sandbox:/mnt/data/a.png"),
        ("**sandbox:/mnt/data/a.png**", "sandbox:/mnt/data/a.png"),
        ("Größe 😀: [a](sandbox:/mnt/data/a.png)", "sandbox:/mnt/data/a.png"),
    ],
)
def test_a_link_to_a_created_file_is_cited_at_its_destination(text: str, covered: str) -> None:
    assert cited(text, created("a.png")) == [covered]


@pytest.mark.parametrize(
    "text",
    [
        "I saved it as /mnt/data/a.png.",
        "`open('/mnt/data/a.png')`",
        "[b](sandbox:/mnt/data/b.png)",
        "[a](sandbox:/mnt/data/a.png.zip)",
        "[a](https://example.com/mnt/data/a.png)",
        "[a](a.png)",
        "sandbox:/mnt/data/",
    ],
)
def test_links_to_other_files_are_not_cited(text: str) -> None:
    assert cited(text, created("a.png")) == []


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("my chart.png", "my%20chart.png"),
        ("my chart.png", "my chart.png"),
        ("report (final).csv", "report (final).csv"),
        ("größe.csv", "gr%C3%B6%C3%9Fe.csv"),
        ("it's.txt", "it's.txt"),
        ("v1.0.", "v1.0."),
    ],
)
def test_names_with_blanks_and_signs_are_found_written_or_encoded(name: str, written: str) -> None:
    assert cited(f"[x](sandbox:/mnt/data/{written})", created("report"), created(name)) == [
        f"sandbox:/mnt/data/{written}"
    ]


def test_each_link_is_cited_in_the_order_of_the_text() -> None:
    text = "[b](sandbox:/mnt/data/b.csv) [a](sandbox:/mnt/data/a.csv) [b](sandbox:/mnt/data/b.csv)"
    found = FileLinks([created("a.csv"), created("b.csv")]).annotations(text)

    assert [one["filename"] for one in found] == ["b.csv", "a.csv", "b.csv"]
    assert [one["start_index"] for one in found] == [4, 33, 62]


def test_a_figure_is_cited_once_and_first_unless_it_is_linked() -> None:
    links = FileLinks([created("a.png", is_figure=True), created("b.png", is_figure=True)])
    text = "See [b](sandbox:/mnt/data/b.png)."
    first, second = links.annotations(text)

    assert first == {
        "type": "container_file_citation",
        "container_id": "cntr_1",
        "file_id": "cfile_a",
        "filename": "cfile_a.png",
        "start_index": 0,
        "end_index": 0,
    }
    assert (second["filename"], second["start_index"]) == ("b.png", 8)
    assert links.annotations("More.") == []


def test_of_two_files_at_one_path_the_newer_is_cited() -> None:
    (found,) = FileLinks([created("a.csv", "cntr_1"), created("a.csv", "cntr_2")]).annotations(
        "sandbox:/mnt/data/a.csv"
    )

    assert found["container_id"] == "cntr_2"


REPLIES = [
    path
    for path in FOLDER.glob("hosted/*.json")
    if "container_file_citation" in path.read_text("utf-8")
]


@pytest.mark.skipif(not REPLIES, reason=MISSING)
@pytest.mark.parametrize("path", REPLIES, ids=lambda path: path.stem)
def test_plain_replies_are_cited_as_recorded(path: Path) -> None:
    reply: dict[str, Any] = json.loads(path.read_text("utf-8"))
    parts = [
        part
        for item in reply["output"]
        for part in item.get("content") or []
        if "annotations" in part
    ]
    for part in parts:
        recorded = [
            {name: value for name, value in one.items() if name != "index"}
            for one in part["annotations"]
        ]
        files = [_created(one) for one in recorded]
        assert FileLinks(files).annotations(part["text"]) == recorded


def _created(citation: dict[str, Any]) -> CreatedFile:
    name = citation["filename"]
    is_figure = citation["end_index"] == 0
    return CreatedFile(
        citation["container_id"], citation["file_id"], f"/mnt/data/{name}", name, is_figure
    )


def test_a_text_may_have_any_number_of_links_and_dots() -> None:
    """Links beyond the limit, and dots behind a path that are more than a sentence has, are not
    cited.
    """
    links = "sandbox:/mnt/data/a.png " * (MOST_LINKS + 5)
    assert len(cited(links, created("a.png"))) == MOST_LINKS
    assert cited(f"sandbox:/mnt/data/a.png{'.' * MOST_AFTER}", created("a.png")) == [
        "sandbox:/mnt/data/a.png"
    ]
    assert cited(f"sandbox:/mnt/data/a.png{'.' * 100_000}", created("a.png")) == []
