"""Settings: typed, documented, and from four places. A flag outdoes the environment, that the file, that the default.

The file is `antiphon.toml` in the working folder, or the one that `--config` or `ANTIPHON_CONFIG` names.
"""

from antiphon.config.checks import check_url, clean_key, key_of, listen_address, metrics_key
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
    "check_url",
    "checked",
    "clean_key",
    "key_of",
    "listen_address",
    "load_settings",
    "metrics_key",
    "settings_file",
]
