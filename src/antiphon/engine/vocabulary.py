"""OpenAI's vocabularies, where the package `tiktoken` and its data are on this machine. Nothing is ever downloaded."""

import hashlib
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

FILES = {
    "o200k_base": (
        "fb374d419588a4632f3f557e76b4b70aebbca790",
        "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
    ),
    "cl100k_base": (
        "9b5ad71b2ce5302211f9c61530b329a4922fc6a4",
        "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
    ),
}
"""A vocabulary's name -> its file's name in tiktoken's cache, and the SHA-256 of what must be in it.

tiktoken downloads a file that is missing or damaged, so it is asked only where neither is so.
"""

NEWEST = "o200k_base"


def vocabulary_of(model: str) -> str | None:
    """Return the name of a model's vocabulary, None for a model that is not OpenAI's, or where tiktoken is missing."""
    try:
        from tiktoken import model as models  # noqa: PLC0415 - an extra: who has it not need not load it
    except ImportError:
        return None
    try:
        name: str = models.encoding_name_for_model(model)
    except KeyError:
        return None
    return name


def tokens_by(name: str) -> Callable[[str], int] | None:
    """Return what counts the tokens of a text in a vocabulary; None where its data are not at hand."""
    try:
        import tiktoken  # noqa: PLC0415 - as above
    except ImportError:
        return None
    if name not in tiktoken.registry.ENCODINGS and not _is_at_hand(name):
        return None
    encoding = tiktoken.get_encoding(name)
    return lambda text: len(encoding.encode_ordinary(text))


def _is_at_hand(name: str) -> bool:
    folder = os.environ.get("TIKTOKEN_CACHE_DIR", os.environ.get("DATA_GYM_CACHE_DIR"))
    if folder is None:
        folder = str(Path(tempfile.gettempdir()) / "data-gym-cache")
    file, digest = FILES.get(name, ("", ""))
    return bool(folder and file) and _digest(Path(folder) / file) == digest


def _digest(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return ""
