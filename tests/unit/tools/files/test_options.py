"""The fields of a `file_search` tool, and how wrong ones are refused."""

from typing import Any

import pytest
from msgspec import convert

from antiphon.errors import ClientError
from antiphon.protocol.tools import FileSearchTool, WebSearchTool
from antiphon.search.contract import Ranking
from antiphon.search.filters import Comparison
from antiphon.tools.files.options import MOST_STORES, FileSearchOptions, read_options

IDS = {"vector_store_ids": ["vs_1"]}


def read(**fields: Any) -> FileSearchOptions:
    return read_options(
        convert({"type": "file_search", **IDS, **fields}, FileSearchTool), "tools[0]"
    )


def test_absent_fields_have_the_defaults_of_the_api() -> None:
    nulls = {"max_num_results": None, "filters": None, "ranking_options": None}

    assert read() == read(**nulls) == FileSearchOptions(("vs_1",), 20, None, Ranking())


def test_every_field_is_read() -> None:
    options = read(
        vector_store_ids=["vs_1", "vs_2", "vs_1"],
        max_num_results=50,
        filters={"type": "eq", "key": "year", "value": 2026},
        ranking_options={
            "ranker": "default-2024-11-15",
            "score_threshold": 0.5,
            "hybrid_search": {"embedding_weight": 2, "text_weight": 0},
        },
    )

    ranking = Ranking("default-2024-11-15", 0.5, 2.0, 0.0)
    assert options == FileSearchOptions(
        ("vs_1", "vs_2"), 50, Comparison("eq", "year", 2026), ranking
    )


RANKING = "tools[0].ranking_options"


@pytest.mark.parametrize(
    ("fields", "param", "code"),
    [
        ({"vector_store_ids": []}, "tools[0].vector_store_ids", "empty_array"),
        (
            {"vector_store_ids": ["vs_1"] * (MOST_STORES + 1)},
            "tools[0].vector_store_ids",
            "array_above_max_length",
        ),
        ({"vector_store_ids": ["vs_1", "x"]}, "tools[0].vector_store_ids[1]", "invalid_value"),
        ({"vector_store_ids": ["vs_/../"]}, "tools[0].vector_store_ids[0]", "invalid_value"),
        ({"max_num_results": 0}, "tools[0].max_num_results", "integer_below_min_value"),
        ({"max_num_results": 51}, "tools[0].max_num_results", "integer_above_max_value"),
        (
            {"filters": {"type": "like", "key": "a", "value": 1}},
            "tools[0].filters.type",
            "invalid_value",
        ),
        ({"ranking_options": {"rank": "auto"}}, f"{RANKING}.rank", "unknown_parameter"),
        ({"ranking_options": {"ranker": 1}}, f"{RANKING}.ranker", "invalid_type"),
        ({"ranking_options": {"ranker": "best"}}, f"{RANKING}.ranker", "invalid_value"),
        (
            {"ranking_options": {"score_threshold": "1"}},
            f"{RANKING}.score_threshold",
            "invalid_type",
        ),
        (
            {"ranking_options": {"score_threshold": True}},
            f"{RANKING}.score_threshold",
            "invalid_type",
        ),
        (
            {"ranking_options": {"score_threshold": -0.1}},
            f"{RANKING}.score_threshold",
            "decimal_below_min_value",
        ),
        (
            {"ranking_options": {"score_threshold": 1.1}},
            f"{RANKING}.score_threshold",
            "decimal_above_max_value",
        ),
        ({"ranking_options": {"hybrid_search": 1}}, f"{RANKING}.hybrid_search", "invalid_type"),
        (
            {"ranking_options": {"hybrid_search": {"embedding_weight": 1}}},
            f"{RANKING}.hybrid_search.text_weight",
            "missing_required_parameter",
        ),
        (
            {"ranking_options": {"hybrid_search": {"embedding_weight": 0, "text_weight": 0}}},
            f"{RANKING}.hybrid_search",
            "invalid_value",
        ),
        (
            {
                "ranking_options": {
                    "hybrid_search": {"embedding_weight": 1, "text_weight": 1, "k": 1}
                }
            },
            f"{RANKING}.hybrid_search.k",
            "unknown_parameter",
        ),
    ],
)
def test_a_wrong_field_is_refused_by_its_path(
    fields: dict[str, Any], param: str, code: str
) -> None:
    with pytest.raises(ClientError) as refused:
        read(**fields)

    assert (refused.value.status, refused.value.param, refused.value.code) == (400, param, code)


def test_the_words_on_an_id_are_those_of_the_api() -> None:
    with pytest.raises(ClientError, match=r"'file-1'\. .* begins with 'vs'\.$"):
        read(vector_store_ids=["file-1"])


def test_another_tool_is_refused() -> None:
    with pytest.raises(ClientError, match="not supported"):
        read_options(WebSearchTool(), "tools[0]")
