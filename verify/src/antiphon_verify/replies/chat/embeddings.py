"""Embeddings."""

import base64
import struct
from typing import Any

from antiphon_verify.replies import Reply, error, states

VECTORS = [[0.5, -0.25, 0.0], [0.125, 1.0, 0.5]]


def with_vectors(*vectors: Any, **changes: Any) -> Reply:
    """Return these embeddings."""
    data = [
        {"object": "embedding", "index": index, "embedding": vector}
        for index, vector in enumerate(vectors)
    ]
    usage = {"prompt_tokens": 7, "total_tokens": 7}
    return states({"object": "list", "model": "m", "data": data, "usage": usage} | changes)


ONE = with_vectors(VECTORS[0])
OTHER = with_vectors(VECTORS[1])
BOTH = with_vectors(*VECTORS)

PACKED = with_vectors(base64.b64encode(struct.pack("<3f", *VECTORS[0])).decode())

REJECTED = error("Missing required parameter: 'input'.", param="input")
