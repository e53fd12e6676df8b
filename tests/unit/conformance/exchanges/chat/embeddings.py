"""Embeddings."""

import base64
import struct
from typing import Any

from antiphon_verify.areas.chat import embeddings
from tests.unit.conformance.exchanges import Answer, Shown, error, says, shown, spoiled

VECTORS = [[0.5, -0.25, 0.0], [0.125, 1.0, 0.5]]


def telling(*vectors: Any, **changes: Any) -> Answer:
    data = [{"object": "embedding", "index": index, "embedding": vector} for index, vector in enumerate(vectors)]
    usage = {"prompt_tokens": 7, "total_tokens": 7}
    return says({"object": "list", "model": "m", "data": data, "usage": usage} | changes)


ONE, OTHER, BOTH = telling(VECTORS[0]), telling(VECTORS[1]), telling(*VECTORS)

PACKED = telling(base64.b64encode(struct.pack("<3f", *VECTORS[0])).decode())

REFUSED = error("Missing required parameter: 'input'.", param="input")

EXCHANGES: dict[str, Shown] = {
    **shown(
        embeddings.a_text_is_embedded,
        [ONE],
        {
            "chat:embeddings:made": [telling("none")],
            "chat:embeddings:object": [ONE.patched("object", to="embedding")],
            "chat:embeddings:usage": [ONE.without("usage")],
        },
    ),
    **shown(
        embeddings.several_texts_are_embedded,
        [BOTH, OTHER],
        {
            "chat:embeddings:several": [BOTH.patched("data", 1, "index", to=0), OTHER],
            "chat:embeddings:same-size": [BOTH, telling([0.5, 1.0])],
            "chat:embeddings:repeated": [BOTH, ONE],
        },
    ),
    **spoiled(embeddings.an_embedding_is_base64, [ONE, PACKED], [ONE, ONE]),
    **spoiled(embeddings.a_request_without_input_is_refused, [ONE, REFUSED], [ONE, ONE]),
}
