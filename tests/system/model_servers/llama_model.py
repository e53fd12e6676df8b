"""Writes a model for llama.cpp: two layers of noise over a vocabulary of bytes, letters and a few
words.

    python llama_model.py FILE

Run by the Python of `.backends/llama-cpp`, which has `gguf` and `numpy`. Nothing that the model
says makes sense. It ends after some ten tokens all the same, and closes what a grammar has it open:
the first number of every token's embedding is the same, no layer changes it, and so the first
column of the output is a bias. Asked for something for ever, it goes on for ever.
"""

import string
import sys

import gguf
import numpy as np

WIDTH = 64
LAYERS = 2
HEADS = 4
INNER = 128
CONTEXT = 4096
WORDS = (
    "a and bright calm deep ebb far gull harbour in it low moon of over quay rope salt "
    "the tide under with"
)
TEMPLATE = (
    "{% if tools %}<|tools|>{{ tools | tojson }}\n{% endif %}"
    "{% for m in messages %}"
    "{% if m.role == 'system' and not loop.first %}{{ raise_exception('The system message comes "
    "first.') }}{% endif %}"
    "<|{{ m.role }}|>{{ m.content or m.tool_calls or '' }}\n{% endfor %}<|assistant|>"
    "{% if 'for ever' in (messages[-1].content or '') %} and on{% endif %}"
)
ON = " and on"
CONSTANT = 2.0
"""The first number of every embedding, where the others are about 1."""

Kind = gguf.TokenType


def vocabulary() -> list[tuple[str, Kind, float]]:
    """Each token, its kind, and by how much it is likelier than noise."""
    special = [
        ("<unk>", Kind.UNKNOWN, -9.0),
        ("<s>", Kind.CONTROL, -9.0),
        ("</s>", Kind.CONTROL, 1.5),
    ]
    single = [(f"<0x{byte:02X}>", Kind.BYTE, -3.0) for byte in range(256)]
    words = [(f"\u2581{word}", Kind.NORMAL, 1.0) for word in WORDS.split()]
    signs = string.ascii_letters + string.digits + string.punctuation + "\n\u2581"
    closers = {'"': 2.0, "}": 2.0, "]": 2.0}
    on = [(ON, Kind.USER_DEFINED, -9.0)]
    return (
        special
        + single
        + words
        + on
        + [(sign, Kind.NORMAL, closers.get(sign, 0.0)) for sign in signs]
    )


def write(path: str) -> None:
    """Write the model to a file, 600 kB of it."""
    tokens = vocabulary()
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_name("noise")
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(INNER)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(len(tokens))
    writer.add_tokenizer_model("llama")
    writer.add_token_list([token for token, _, _ in tokens])
    writer.add_token_types([kind for _, kind, _ in tokens])
    writer.add_token_scores([-float(place) for place in range(len(tokens))])
    writer.add_unk_token_id(0)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_add_bos_token(True)
    writer.add_add_space_prefix(False)
    writer.add_chat_template(TEMPLATE)
    for name, tensor in tensors([bias for _, _, bias in tokens]):
        writer.add_tensor(name, tensor.astype(np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def tensors(biases: list[float]) -> list[tuple[str, np.ndarray]]:
    """The weights by name, the same every time."""
    noise = np.random.default_rng(6)

    def random(*shape: int, scale: float) -> np.ndarray:
        return noise.standard_normal(shape) * scale

    embedding = random(len(biases), WIDTH, scale=1.0)
    output = random(len(biases), WIDTH, scale=0.25)
    embedding[:, 0] = CONSTANT
    output[:, 0] = biases
    places = {token: place for place, (token, _, _) in enumerate(vocabulary())}
    on = places[ON]
    last = places[">"]
    end = places["</s>"]
    embedding[on] = 0
    embedding[on, 1] = WIDTH**0.5
    output[on, 1] = 4
    # a prompt ends with this, and all say something
    embedding[last, 2] = WIDTH**0.5
    output[end, 2] = -4
    named = [
        ("token_embd.weight", embedding),
        ("output.weight", output),
        ("output_norm.weight", np.ones(WIDTH)),
    ]
    for layer in range(LAYERS):
        attended = random(WIDTH, WIDTH, scale=0.1)
        fed = random(WIDTH, INNER, scale=0.1)
        attended[0] = fed[0] = 0
        weights = {
            "attn_norm": np.ones(WIDTH),
            "attn_q": random(WIDTH, WIDTH, scale=0.1),
            "attn_k": random(WIDTH, WIDTH, scale=0.1),
            "attn_v": random(WIDTH, WIDTH, scale=0.1),
            "attn_output": attended,
            "ffn_norm": np.ones(WIDTH),
            "ffn_gate": random(INNER, WIDTH, scale=0.1),
            "ffn_up": random(INNER, WIDTH, scale=0.1),
            "ffn_down": fed,
        }
        named += [(f"blk.{layer}.{name}.weight", weight) for name, weight in weights.items()]
    return named


if __name__ == "__main__":
    write(sys.argv[1])
