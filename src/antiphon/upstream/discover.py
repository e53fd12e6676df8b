"""Finds backends without configuration: at the usual local ports, and from OpenAI's variables."""

import asyncio
from collections.abc import Mapping, Sequence

from antiphon.errors import BackendError
from antiphon.upstream.http import HttpBackend

PROBE_TIMEOUT = 0.3
"""Timeout of each place in seconds; all are queried in parallel."""

LOCAL = {
    "ollama": "http://127.0.0.1:11434/v1",
    "lmstudio": "http://127.0.0.1:1234/v1",
    "llamacpp": "http://127.0.0.1:8080/v1",
    "vllm": "http://127.0.0.1:8000/v1",
}
"""Local servers at their usual ports."""


async def discover(
    places: Sequence[tuple[str, str]] = tuple(LOCAL.items()),
) -> list[tuple[str, str]]:
    """Return the name and base URL of each place that lists models."""
    found = await asyncio.gather(*(_answers(name, url) for name, url in places))
    return [place for place, answers in zip(places, found, strict=True) if answers]


def named_by_environment(environment: Mapping[str, str]) -> tuple[str, str] | None:
    """Return URL and key from `OPENAI_BASE_URL` and `OPENAI_API_KEY`; a key alone selects OpenAI
    itself.
    """
    url = environment.get("OPENAI_BASE_URL", "")
    key = environment.get("OPENAI_API_KEY", "")
    if not url and not key:
        return None
    return url or "https://api.openai.com/v1", key


async def _answers(name: str, url: str) -> bool:
    backend = HttpBackend(name, url, list_timeout=PROBE_TIMEOUT, connect_timeout=PROBE_TIMEOUT)
    try:
        await backend.list_models()
    except BackendError:
        return False
    finally:
        await backend.close()
    return True
