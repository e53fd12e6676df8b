"""The keyword arguments of the library are the parameters of the API, no more and no fewer."""

from typing import Any

import pytest
from msgspec.structs import fields

from antiphon.library import file_parameters
from antiphon.library.parameters import (
    CompactParameters,
    CountParameters,
    InputPageParameters,
    ResponseParameters,
    as_query,
)
from antiphon.protocol import containers, vector_stores
from antiphon.protocol.files import FilesQuery
from antiphon.protocol.items.content import Unsupported
from antiphon.protocol.prompts import NewPromptVersion, PromptsQuery, PromptTemplate
from antiphon.protocol.requests import CompactRequest, CreateResponse
from antiphon.protocol.resources import CountInputTokens, InputItemsQuery

OWN = {"extra_body", "extra_headers", "timeout"}
"""What the library has besides."""

OTHERWISE = {"stream"}
"""What a method has as an argument of its own."""


def running(request: Any) -> set[str]:
    """The fields of a request, but for those that this server rejects by name."""
    return {one.name for one in fields(request) if one.type != Unsupported} - OTHERWISE


@pytest.mark.parametrize(
    ("parameters", "request_type"),
    [
        (ResponseParameters, CreateResponse),
        (CompactParameters, CompactRequest),
        (InputPageParameters, InputItemsQuery),
        (file_parameters.NewVectorStore, vector_stores.CreateVectorStore),
        (file_parameters.VectorStoreChange, vector_stores.UpdateVectorStore),
        (file_parameters.StorePageParameters, vector_stores.VectorStoresQuery),
        (file_parameters.StoreFilePageParameters, vector_stores.StoreFilesQuery),
        (file_parameters.SearchParameters, vector_stores.SearchVectorStore),
        (file_parameters.NewStoreFile, vector_stores.AttachFile),
        (file_parameters.NewBatch, vector_stores.CreateFileBatch),
        (file_parameters.FilePageParameters, FilesQuery),
        (file_parameters.NewContainer, containers.CreateContainer),
        (file_parameters.ContainerPageParameters, containers.ContainersQuery),
        (file_parameters.ContainerFilePageParameters, containers.ContainerFilesQuery),
        (file_parameters.PromptParameters, PromptTemplate),
        (file_parameters.PromptVersionParameters, NewPromptVersion),
        (file_parameters.PromptPageParameters, PromptsQuery),
    ],
)
def test_the_names_are_those_of_the_api(parameters: Any, request_type: Any) -> None:
    names = parameters.__required_keys__ | parameters.__optional_keys__
    assert names - OWN == running(request_type)


def test_the_names_of_a_count_are_those_of_the_api() -> None:
    names = CountParameters.__required_keys__ | CountParameters.__optional_keys__
    assert names - OWN == {*CountInputTokens.__struct_fields__}


@pytest.mark.parametrize(
    ("parameters", "query"),
    [
        ({"after": "msg_1", "limit": 5}, {"after": ["msg_1"], "limit": ["5"]}),
        ({"after": None, "include": ["a", "b"]}, {"include": ["a", "b"]}),
        ({}, {}),
    ],
)
def test_parameters_of_a_list_are_a_query(parameters: Any, query: Any) -> None:
    assert as_query(parameters) == query
