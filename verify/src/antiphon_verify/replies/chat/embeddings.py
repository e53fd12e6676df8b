"""Embeddings."""

import base64
import struct
from typing import Any

from antiphon_verify.replies import Reply, error, says

VECTORS = [[0.5, -0.25, 0.0], [0.125, 1.0, 0.5]]


def telling(*vectors: Any, **changes: Any) -> Reply:
    """Return these embeddings."""
    data = [{"object": "embedding", "index": index, "embedding": vector} for index, vector in enumerate(vectors)]
    usage = {"prompt_tokens": 7, "total_tokens": 7}
    return says({"object": "list", "model": "m", "data": data, "usage": usage} | changes)


ONE, OTHER, BOTH = telling(VECTORS[0]), telling(VECTORS[1]), telling(*VECTORS)

PACKED = telling(base64.b64encode(struct.pack("<3f", *VECTORS[0])).decode())

REFUSED = error("Missing required parameter: 'input'.", param="input")
