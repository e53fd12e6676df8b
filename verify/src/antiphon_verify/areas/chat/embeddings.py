"""Embeddings, if the server and the model support them."""

import base64
import math
import struct
from typing import Any

from antiphon_verify.case import case
from antiphon_verify.exchange import Exchange
from antiphon_verify.reading import at, listed
from antiphon_verify.replies.chat import embeddings as replies
from antiphon_verify.requirement import Stop, must, should
from antiphon_verify.trial import ExchangeSteps, Steps, Trial

API = "chat-api embeddings"


TEXTS = ["The cat sleeps on the mat.", "Rain is expected on Tuesday."]

NO_EMBEDDINGS = "The model does not support embeddings."


def embed(trial: Trial, text: Any, **fields: Any) -> ExchangeSteps:
    """Request embeddings."""
    return trial.post("/embeddings", {"model": trial.model, "input": text, **fields})


def embeds(trial: Trial, exchange: Exchange) -> None:
    """End the case if the model does not support embeddings: most chat models do not."""
    trial.supported(exchange)
    if not exchange.is_ok:
        raise Stop("skipped", f"{NO_EMBEDDINGS} {exchange.came}")


def vectors_of(exchange: Exchange) -> list[Any]:
    """Return the embeddings of a response."""
    return [at(one, "embedding") for one in listed(at(exchange.json, "data"))]


def is_vector(value: Any) -> bool:
    """Whether this is a list of numbers."""
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(one, int | float) for one in value)
    )


def is_near(one: Any, other: Any) -> bool:
    """Whether two vectors are equal except for rounding."""
    if not (is_vector(one) and is_vector(other) and len(one) == len(other)):
        return False
    return all(
        math.isclose(a, b, rel_tol=1e-3, abs_tol=1e-4) for a, b in zip(one, other, strict=True)
    )


@case(
    must(
        "chat:embeddings:made",
        API,
        "A text returns an embedding: a list of numbers in `data`.",
        fault=[replies.with_vectors("none")],
    ),
    should(
        "chat:embeddings:object",
        API,
        "The response is a `list` of `embedding` objects, with the model's name.",
        fault=[replies.ONE.patched("object", to="embedding")],
    ),
    should(
        "chat:embeddings:usage",
        API,
        "`usage` counts the tokens of the texts.",
        fault=[replies.ONE.without("usage")],
    ),
    good=[replies.ONE],
)
def a_text_is_embedded(trial: Trial) -> Steps:
    """Embed one text."""
    exchange = yield from embed(trial, TEXTS[0])
    embeds(trial, exchange)
    vectors = vectors_of(exchange)
    trial.expect("chat:embeddings:made", len(vectors) == 1 and is_vector(vectors[0]), exchange.came)
    kinds = [
        at(exchange.json, "object"),
        *(at(one, "object") for one in listed(at(exchange.json, "data"))),
    ]
    is_named = bool(at(exchange.json, "model")) and isinstance(at(exchange.json, "model"), str)
    trial.expect(
        "chat:embeddings:object", kinds == ["list", "embedding"] and is_named, exchange.came
    )
    tokens = at(exchange.json, "usage", "prompt_tokens")
    trial.expect("chat:embeddings:usage", isinstance(tokens, int) and tokens > 0, exchange.came)


@case(
    must(
        "chat:embeddings:several",
        API,
        "Several texts return as many embeddings, each with its `index`, in order.",
        fault=[replies.BOTH.patched("data", 1, "index", to=0), replies.OTHER],
    ),
    must(
        "chat:embeddings:same-size",
        API,
        "All embeddings of a model have the same length.",
        fault=[replies.BOTH, replies.with_vectors([0.5, 1.0])],
    ),
    should(
        "chat:embeddings:repeated",
        API,
        "The same text returns the same embedding again.",
        fault=[replies.BOTH, replies.ONE],
    ),
    good=[replies.BOTH, replies.OTHER],
)
def several_texts_are_embedded(trial: Trial) -> Steps:
    """Embed two texts together, and the second of them alone."""
    both = yield from embed(trial, TEXTS)
    embeds(trial, both)
    single = yield from embed(trial, TEXTS[1])
    vectors = vectors_of(both)
    again = vectors_of(single)
    numbers = [at(one, "index") for one in listed(at(both.json, "data"))]
    trial.expect(
        "chat:embeddings:several", all(map(is_vector, vectors)) and numbers == [0, 1], both.came
    )
    sizes = {len(one) for one in (*vectors, *again) if is_vector(one)}
    trial.expect("chat:embeddings:same-size", len(sizes) == 1, f"{sorted(sizes)} numbers")
    is_same = bool(vectors and again) and is_near(vectors[-1], again[0])
    trial.expect("chat:embeddings:repeated", is_same, single.came)


@case(
    should(
        "chat:embeddings:base64",
        API,
        "With `base64`, an embedding contains the same numbers, as 32-bit floats.",
        fault=[replies.ONE, replies.ONE],
    ),
    good=[replies.ONE, replies.PACKED],
)
def an_embedding_is_base64(trial: Trial) -> Steps:
    """Embed a text as numbers, and as base64."""
    plain = yield from embed(trial, TEXTS[0])
    embeds(trial, plain)
    packed = yield from embed(trial, TEXTS[0], encoding_format="base64")
    numbers = vectors_of(plain)
    texts = vectors_of(packed)
    is_same = bool(numbers and texts) and is_near(numbers[0], unpacked(texts[0]))
    trial.expect("chat:embeddings:base64", packed.is_ok and is_same, packed.came)


def unpacked(text: Any) -> list[float]:
    """Return the numbers of a base64 text; none if the text is not valid base64 of 32-bit
    floats.
    """
    try:
        raw = base64.b64decode(text, validate=True)
        return list(struct.unpack(f"<{len(raw) // 4}f", raw))
    except (TypeError, ValueError, struct.error):
        return []


@case(
    must(
        "chat:embeddings:no-input",
        API,
        "An embeddings request without `input` is rejected with a 4xx.",
        fault=[replies.ONE, replies.ONE],
    ),
    good=[replies.ONE, replies.REJECTED],
)
def a_request_without_input_is_refused(trial: Trial) -> Steps:
    """Request embeddings without an input."""
    good = yield from embed(trial, TEXTS[0])
    embeds(trial, good)
    exchange = yield from trial.post("/embeddings", {"model": trial.model})
    trial.expect("chat:embeddings:no-input", 400 <= exchange.status < 500, exchange.came)
