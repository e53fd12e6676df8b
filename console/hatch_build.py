"""Put the console's bundle into the wheel.

The variable `ANTIPHON_BUILD_CONSOLE` is `required`, `skip`, or not set: then a wheel without the
console is a warning.
"""

import os
import runpy
from pathlib import Path
from subprocess import CalledProcessError
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

INSIDE = "antiphon/server/console/static"


class ConsoleHook(BuildHookInterface[Any]):
    """Builds the console for a wheel; an editable installation leaves that to `make console`."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build the bundle and add it to the wheel.

        Raises `RuntimeError` where it is required and cannot be built.
        """
        wanted = os.environ.get("ANTIPHON_BUILD_CONSOLE", "")
        if self.target_name != "wheel" or version == "editable" or wanted == "skip":
            return
        builder = runpy.run_path(str(Path(self.root) / "console/build.py"))
        try:
            bundle = builder["build"]()
        except (builder["MissingError"], CalledProcessError) as error:
            reason = getattr(error, "stdout", None) or error
            if wanted == "required":
                raise RuntimeError(f"The console could not be built: {reason}") from error
            self.app.display_warning(f"The wheel has no console: {reason}")
            return
        build_data["force_include"][str(bundle)] = INSIDE

    def dependencies(self) -> list[str]:
        """Return Node from PyPI where the console is required and the system has no Node."""
        builder = runpy.run_path(str(Path(self.root) / "console/build.py"))
        has_node = builder["_of_the_system"]() is not None
        return (
            []
            if has_node or os.environ.get("ANTIPHON_BUILD_CONSOLE") != "required"
            else [builder["NODE_FROM_PYPI"]]
        )
