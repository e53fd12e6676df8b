"""The findings of a probing, how they are stored, and how they are shown on one line."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec
from msgspec import Struct, field

from antiphon.translation.dialects.profile import NOTHING_KNOWN, ModelProfile


class Measurement(Struct, frozen=True, kw_only=True):
    """The findings about one model."""

    profile: ModelProfile = NOTHING_KNOWN
    digest: str = ""
    """The model's digest; empty if the backend reports none."""
    evidence: Mapping[str, str] = field(default_factory=dict)
    """By fact: the question that decided it, or where the backend reports it."""
    requests: int = 0
    """Requests for answers that were sent."""
    tokens: int = 0
    """Tokens of prompts and answers, as far as they were reported."""

    def encode(self) -> bytes:
        """Return it as JSON."""
        return msgspec.json.encode(self)


def decode(body: bytes) -> Measurement | None:
    """Decode the result of `encode`; None for anything else, such as the data of another version of
    this program.
    """
    try:
        return msgspec.json.decode(body, type=Measurement)
    except msgspec.DecodeError:
        return None


TOO_WEAK = "Too weak for coding agents"
"""The beginning of a verdict about a model that they cannot use."""

ROOM = 16_384
"""Tokens that the first request of a coding agent, and some turns after it, need."""

MISSING = {
    "instructions": "it does not follow instructions",
    "calls": "it calls no tool unless it is forced to",
}
"""The words for each weakness."""


def verdict(profile: ModelProfile) -> str:
    """Return a sentence about whether coding agents can use a model; empty if no probe found that
    out.
    """
    if profile.weaknesses is None:
        return ""
    faults = [MISSING[one] for one in profile.weaknesses]
    if profile.context_window is not None and profile.context_window < ROOM:
        faults.append(
            f"its context window of {profile.context_window:,} tokens is too small "
            "for their requests"
        )
    if faults:
        return f"{TOO_WEAK}: {_listed(faults)}."
    return "It follows instructions and calls tools, as coding agents need."


def least(profiles: Iterable[ModelProfile]) -> str:
    """Return the verdict about a model with several backends: the first that it is too weak, else
    the first.
    """
    return max(
        map(verdict, profiles), key=lambda sentence: sentence.startswith(TOO_WEAK), default=""
    )


def _listed(parts: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(parts[:-1]), parts[-1])))


def summary(profile: ModelProfile) -> str:
    """Return the facts about a model on one line; empty if none are known."""
    return ", ".join(_parts(profile))


def _parts(profile: ModelProfile) -> Iterator[str]:
    if profile.text_calls:
        yield f"tools as text ({', '.join(profile.text_calls)})"
    elif profile.tools:
        yield "native tools" if profile.tools == "native" else "tools by prompt"
    if profile.json_formats is not None:
        is_schema = any("schema" in form for form in profile.json_formats)
        loose = " (not held)" if is_schema and profile.json_held is False else ""
        yield f"{'schemas' if is_schema else 'JSON' if profile.json_formats else 'no JSON'}{loose}"
    if profile.rejected_keywords:
        yield f"rejects {', '.join(profile.rejected_keywords)}"
    if profile.context_window is not None:
        yield f"{profile.context_window:,} tokens"
    if profile.thinking and profile.thinking != "none":
        yield f"thinks ({profile.thinking})"
    if profile.vision is not None:
        yield "vision" if profile.vision else "no vision"
    if profile.stable_template is False:
        yield "template rewrites earlier turns"
    if profile.system_role is False:
        yield "no system role"
    if profile.weaknesses:
        yield "too weak for coding agents"
