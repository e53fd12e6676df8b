"""The prompts of the settings are held to the rules of `/v1/prompts`."""

import pytest

from antiphon.build.prompts import named_prompts
from antiphon.config import PromptConfig
from antiphon.errors import ConfigError
from antiphon.protocol.templates import variables_of


def refusal(prompt_id: str, config: PromptConfig) -> str:
    with pytest.raises(ConfigError) as caught:
        named_prompts({prompt_id: config})
    return caught.value.message


def test_a_prompt_of_the_settings_is_a_template_with_the_number_of_its_version() -> None:
    config = PromptConfig(
        version=7,
        instructions="You help {{customer}}.",
        messages=[{"role": "user", "content": "About {{topic}}"}],
        defaults={"temperature": 1, "max_output_tokens": 100.0},
    )
    (one,) = named_prompts({"support": config}).values()
    assert one.version == 7
    assert variables_of(one.template) == ["customer", "topic"]
    assert one.template.defaults is not None
    assert (one.template.defaults.temperature, one.template.defaults.max_output_tokens) == (
        1.0,
        100,
    )
    assert one.template.model is None


@pytest.mark.parametrize(
    ("prompt_id", "config", "words"),
    [
        (
            "a b",
            PromptConfig(instructions="x"),
            "prompts has the id 'a b', which is not valid. Use letters, digits, '_' and '-'.",
        ),
        (
            "p",
            PromptConfig(),
            "prompts.p is not valid: A prompt needs 'instructions', 'messages', or both.",
        ),
        (
            *("p", PromptConfig(instructions="x", defaults={"temprature": 1})),
            "prompts.p is not valid: Unknown parameter: 'defaults.temprature'. Did you mean "
            "'defaults.temperature'?",
        ),
        (
            "p",
            PromptConfig(messages=[{"role": "bot", "content": "x"}]),
            "prompts.p is not valid: Invalid value: 'bot'.",
        ),
        (
            "p",
            PromptConfig(instructions="x" * 300_000),
            "prompts.p is too long: a prompt can have at most 262,144",
        ),
    ],
)
def test_a_prompt_that_is_wrong_is_rejected_by_its_id(
    prompt_id: str, config: PromptConfig, words: str
) -> None:
    assert words in refusal(prompt_id, config)
