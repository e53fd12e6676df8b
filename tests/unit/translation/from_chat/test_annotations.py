from typing import Any

import pytest

from antiphon.translation.from_chat.annotations import Annotations, read_annotation, read_citations

BREST = {"url": "https://tides.example/brest", "title": "Brest", "start_index": 3, "end_index": 8}


def test_a_nested_citation_is_flattened() -> None:
    assert read_annotation({"type": "url_citation", "url_citation": BREST}) == {
        "type": "url_citation",
        **BREST,
    }


def test_a_flat_citation_stays_flat() -> None:
    assert read_annotation({"type": "url_citation", **BREST}) == {"type": "url_citation", **BREST}


def test_fields_that_the_api_does_not_know_are_left_out() -> None:
    cited = read_annotation(
        {"type": "url_citation", "url_citation": {**BREST, "content": "…"}, "index": 1}
    )
    assert cited == {"type": "url_citation", **BREST}


@pytest.mark.parametrize("odd", [None, [], {}, True, 1.5])
def test_a_field_that_is_wrong_gets_its_empty_value(odd: Any) -> None:
    cited = read_annotation(
        {"type": "url_citation", "url_citation": dict.fromkeys(BREST, odd) | {"url": BREST["url"]}}
    )
    assert cited == {
        "type": "url_citation",
        "url": BREST["url"],
        "title": "",
        "start_index": 0,
        "end_index": 0,
    }


@pytest.mark.parametrize("url", [None, "", 7])
def test_a_citation_of_a_file_without_its_id_is_dropped(url: Any) -> None:
    assert (
        read_annotation({"type": "file_citation", "file_id": url, "filename": "a.txt", "index": 1})
        == {}
    )
    assert (
        read_annotation({"type": "file_citation"})
        == read_annotation({"type": "url_citation"})
        == {}
    )


@pytest.mark.parametrize("url", ["", None])
def test_a_citation_without_a_url_is_dropped(url: Any) -> None:
    assert read_annotation({"type": "url_citation", "url_citation": {**BREST, "url": url}}) == {}


@pytest.mark.parametrize(
    "annotation",
    [
        {"type": "file_citation", "file_id": "file_1", "filename": "tides.pdf", "index": 2},
        {"type": "file_path", "file_id": "file_1", "index": 2},
        {
            "type": "container_file_citation",
            "container_id": "cntr_1",
            "file_id": "file_1",
            "filename": "tides.csv",
            "start_index": 0,
            "end_index": 4,
        },
    ],
    ids=lambda annotation: annotation["type"],
)
def test_every_annotation_of_the_api_is_preserved(annotation: dict[str, Any]) -> None:
    assert read_annotation(annotation) == annotation


@pytest.mark.parametrize(
    "odd",
    [None, "url_citation", [], {}, {"type": None}, {"type": []}, {"type": "file", "file": {}}],
)
def test_an_unknown_annotation_is_ignored(odd: Any) -> None:
    assert read_annotation(odd) == {}


def test_a_list_of_sources_is_cited_without_a_place() -> None:
    url = "https://tides.example/brest"
    assert read_citations([url, None, "", 3, {"url": url}]) == [
        {"type": "url_citation", "url": url, "title": url, "start_index": 0, "end_index": 0}
    ]


def test_an_annotation_waits_for_the_text_that_it_is_about() -> None:
    annotations = Annotations()
    annotations.add(read_annotation({"type": "url_citation", **BREST}))

    assert list(annotations.due(7)) == []
    assert list(annotations.due(8)) == [(0, {"type": "url_citation", **BREST})]
    assert list(annotations.due(9, is_over=True)) == []


@pytest.mark.parametrize(
    ("provided", "reported"),
    [((3, 20), (3, 10)), ((-4, 5), (0, 5)), ((8, 2), (8, 8)), ((30, 40), (10, 10))],
)
def test_an_annotation_never_points_past_its_text(
    provided: tuple[int, int], reported: tuple[int, int]
) -> None:
    annotations = Annotations()
    annotations.add(BREST | {"start_index": provided[0], "end_index": provided[1]})

    [(_, annotation)] = annotations.due(10, is_over=True)
    assert (annotation["start_index"], annotation["end_index"]) == reported
    assert annotations.reported == [annotation]
