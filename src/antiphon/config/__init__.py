"""Typed and documented settings. Precedence: flag, environment variable, file, default.

The file is `antiphon.toml` in the working directory, or the file that `--config` or
`ANTIPHON_CONFIG` names.
"""

from antiphon.config.checks import (
    check_collector,
    check_url,
    clean_key,
    key_of,
    listen_address,
    metrics_key,
)
from antiphon.config.load import PREFIX, checked, load_settings, settings_file
from antiphon.config.models import ModelConfig, PromptConfig
from antiphon.config.settings import BackendConfig, McpServerConfig, Settings

__all__ = [
    "PREFIX",
    "BackendConfig",
    "McpServerConfig",
    "ModelConfig",
    "PromptConfig",
    "Settings",
    "check_collector",
    "check_url",
    "checked",
    "clean_key",
    "key_of",
    "listen_address",
    "load_settings",
    "metrics_key",
    "settings_file",
]
