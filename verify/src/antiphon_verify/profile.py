"""Profiles: the known deviations of well-known servers, so that a report distinguishes new failures
from known ones.
"""

from fnmatch import fnmatch
from pathlib import Path

import msgspec

from antiphon_verify.choice import under
from antiphon_verify.errors import VerifyError

FOLDER = Path(__file__).parent / "profiles"


class Known(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Deviations with one cause."""

    ids: tuple[str, ...]
    """Requirements or whole areas."""
    why: str
    source: str
    """Who found it: an issue thread, a documentation page, a measurement."""
    models: tuple[str, ...] = ()
    """The models that it applies to, as patterns such as `gpt-oss*`; all models if empty."""


class Profile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One server."""

    name: str
    base_url: str = ""
    """Its default base URL."""
    key_env: str = "OPENAI_API_KEY"
    """The environment variable with its key."""
    known: tuple[Known, ...] = ()

    def reasons(self, model: str) -> dict[str, str]:
        """Return, by id, why a requirement is known to fail with this model.

        Raises `VerifyError` for an unknown id.
        """
        known = [
            one
            for one in self.known
            if not one.models or any(fnmatch(model, name) for name in one.models)
        ]
        return {each: f"{one.why} ({one.source})" for one in known for each in under(one.ids)}


def profiles() -> list[str]:
    """Return the names of the profiles of this package."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def load_profile(name: str) -> Profile:
    """Return a built-in profile by its name, or a user's profile by its file.

    Raises `VerifyError`.
    """
    path = FOLDER / f"{name}.toml" if name in profiles() else Path(name)
    try:
        return msgspec.toml.decode(path.read_bytes(), type=Profile)
    except OSError as error:
        choice = ", ".join(profiles())
        raise VerifyError(
            f"There is no profile '{name}'. Name a file, or one of: {choice}."
        ) from error
    except msgspec.MsgspecError as error:
        raise VerifyError(f"The profile {name} is invalid: {error}") from error
