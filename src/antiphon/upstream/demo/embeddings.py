"""Embeddings that depend on the text alone; near texts are no nearer than others."""

import base64
import hashlib
import struct
from typing import Any

from antiphon.errors import ClientError

DIMENSIONS = 16
MOST_DIMENSIONS = 4096


def embed(request: dict[str, Any]) -> dict[str, Any]:
    """Return the answer to an embeddings request: a unit vector for each input.

    Raises `ClientError` for an encoding that is neither `float` nor `base64`, and for too many dimensions.
    """
    encoding = request.get("encoding_format") or "float"
    if encoding not in {"float", "base64"}:
        raise _invalid("encoding_format", f"expected 'float' or 'base64', but got '{encoding}' instead.")
    dimensions = request.get("dimensions") or DIMENSIONS
    if dimensions > MOST_DIMENSIONS:
        raise _invalid("dimensions", f"expected at most {MOST_DIMENSIONS}.")
    inputs = _inputs(request["input"])
    vectors = [_vector(one, dimensions) for one in inputs]
    data = [
        {"object": "embedding", "index": index, "embedding": _base64(vector) if encoding == "base64" else vector}
        for index, vector in enumerate(vectors)
    ]
    tokens = sum(len(one.split() if isinstance(one, str) else one) for one in inputs)
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    return {"object": "list", "model": request["model"], "data": data, "usage": usage}


def _inputs(value: Any) -> list[str | list[Any]]:
    """Return the inputs: a text or a list of tokens each."""
    is_one = isinstance(value, str) or all(isinstance(one, int) for one in value)
    inputs = [value] if is_one else value
    if not all(isinstance(one, str | list) for one in inputs):
        raise _invalid("input", "expected texts, or lists of tokens.")
    return inputs


def _vector(text: str | list[Any], dimensions: int) -> list[float]:
    octets = hashlib.shake_256(repr(text).encode()).digest(dimensions)
    numbers = [octet - 127.5 for octet in octets]
    length = sum(number * number for number in numbers) ** 0.5
    return [number / length for number in numbers]


def _base64(vector: list[float]) -> str:
    """Return the vector as little-endian 32-bit floats in base64, as the API has it."""
    return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()


def _invalid(param: str, words: str) -> ClientError:
    return ClientError(f"Invalid '{param}': {words}", code="invalid_value", param=param)
