"""The conformance checker `antiphon-verify`: a package of its own, which can be installed next to
this one.

Its sources are in the folder `verify/` of this repository. It is in no package index, where a
stranger could own its name: so no extra depends on it, and advice names the folder.
"""

from antiphon.errors import ConfigError
from antiphon.packages import is_there, problem_with

NAME = "antiphon_verify"
"""Its name in imports."""

INSTALL = "pip install ./verify"
"""The command that installs it, in a clone of Antiphon."""


def is_verifier_installed() -> bool:
    """Whether the checker is installed. It is not loaded."""
    return is_there(NAME)


def problem_with_verifier(module: str) -> str:
    """Return why a module that needs the checker cannot be loaded, and what to do; empty if it
    can.
    """
    if not is_verifier_installed():
        return f"antiphon-verify is not installed. Install it in a clone of Antiphon: {INSTALL}"
    return problem_with(module)


def require_verifier(module: str, what: str) -> None:
    """Load a module that needs the checker. Raises `ConfigError` if it cannot be loaded.

    `what` is the command that needs it.
    """
    if problem := problem_with_verifier(module):
        raise ConfigError(f"{what} cannot run: {problem}")
