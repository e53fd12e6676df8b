"""A finished response shows the values that its backend was sent."""

from typing import Any

from msgspec.structs import replace

from antiphon.protocol.response import Response
from antiphon.translation.dialects.dialect import effort_in
from antiphon.translation.to_chat_completions.adjustments import applied
from tests.support.cases import each


def displayed(body: dict[str, Any], *adjusted: str) -> Response:
    response = Response(
        id="resp_1",
        created_at=0,
        model="m",
        temperature=0.2,
        top_p=0.9,
        presence_penalty=1.0,
        reasoning={"effort": "high"},
    )
    return replace(response, **applied(response, adjusted, effort_in(body)))


def test_what_was_omitted_is_null_or_its_default() -> None:
    response = displayed(
        {}, "sampling.temperature", "sampling.top_p", "sampling.presence_penalty", "tools.schema"
    )
    assert (response.temperature, response.top_p, response.presence_penalty) == (None, None, 0.0)
    assert response.reasoning == {"effort": "high"}


@each(
    ("body", "effort"),
    [
        ({"reasoning_effort": "low"}, "low"),
        ({"reasoning": {"effort": "low"}}, "low"),
        ({"thinking": {"type": "disabled"}}, "none"),
        ({"enable_thinking": False}, "none"),
        ({"chat_template_kwargs": {"enable_thinking": False}}, "none"),
        ({}, None),
        ({"thinking": True, "reasoning": "auto", "chat_template_kwargs": []}, None),
    ],
)
def test_the_effort_is_the_one_that_was_sent(body: dict[str, Any], effort: str | None) -> None:
    assert displayed(body, "reasoning.effort").reasoning == {"effort": effort}


def test_a_response_without_reasoning_has_none_to_show() -> None:
    response = Response(id="resp_1", created_at=0, model="m")
    assert applied(response, ["reasoning.effort"], None) == {}
