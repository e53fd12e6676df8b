"""The prompts of the settings, checked as those of `/v1/prompts` are."""

import re
from collections.abc import Mapping

import msgspec

from antiphon.config import PromptConfig
from antiphon.errors import ClientError, ConfigError
from antiphon.history.prompted import SettingsPrompt
from antiphon.protocol.prompts import PromptTemplate
from antiphon.protocol.validation.prompts import MOST_TEMPLATE, read_template

_ID = re.compile(r"[A-Za-z0-9_-]{1,256}")


def named_prompts(prompts: Mapping[str, PromptConfig]) -> dict[str, SettingsPrompt]:
    """Return the prompts of the settings by their ids. Raises `ConfigError` for an invalid one."""
    return {prompt_id: _named(prompt_id, config) for prompt_id, config in prompts.items()}


def _named(prompt_id: str, config: PromptConfig) -> SettingsPrompt:
    if not _ID.fullmatch(prompt_id):
        raise ConfigError(
            f"prompts has the id '{prompt_id}', which is not valid. Use letters, digits, "
            "'_' and '-'."
        )
    fields = {
        name: value
        for name, value in msgspec.to_builtins(config).items()
        if value and name != "version"
    }
    if len(msgspec.json.encode(fields)) > MOST_TEMPLATE:
        raise ConfigError(
            f"prompts.{prompt_id} is too long: a prompt can have at most {MOST_TEMPLATE:,} bytes."
        )
    try:
        return SettingsPrompt(config.version, read_template(fields, PromptTemplate))
    except ClientError as error:
        raise ConfigError(f"prompts.{prompt_id} is not valid: {error.message}") from error
