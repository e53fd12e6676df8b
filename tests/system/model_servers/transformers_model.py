"""Writes a model for `transformers serve`: two layers of noise, a tokenizer of bytes and a few
words, a chat template.

    python transformers_model.py FOLDER

Run by the Python of `.backends/transformers`. FOLDER is laid out as Hugging Face's cache is, since
the server lists what lies there. The model speaks noise that ends after some ten tokens; asked for
something for ever, it goes on for ever. Where functions are offered and no result is there yet, the
template begins a call of the first one, and the model ends it: `AFTER` says which token follows
which for certain. The server makes a function without a name of each tool of another type. The
templates of common models pass over such a function, so this one does too: an error here would be
the model's, and count against the server.
"""

import sys
from pathlib import Path

import torch
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
from transformers import GenerationConfig, PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM

NAME = "tiny/noise"
REVISION = "6" * 40
WIDTH = 64
LAYERS = 2
HEADS = 4
INNER = 128
CONTEXT = 2048
WORDS = (
    "a and bright calm deep ebb far gull harbour in it low moon of over quay rope salt "
    "the tide under with"
)
END = "<|im_end|>"
START = "<|im_start|>"
PREFILL = '"arguments":'
ARGUMENTS = ' {"place": "Dover"}}'
REPEATED = ("Leave these words alone. ", "tide ")
"""What `antiphon verify` says thousands of times. The server knows no limit and reads every token
of it.
"""
ON = " and on"
SPECIAL = (END, START, "<tool_call>", "</tool_call>", PREFILL, ARGUMENTS, ON, *REPEATED)
AFTER = {PREFILL: ARGUMENTS, ARGUMENTS: "</tool_call>", "</tool_call>": END, ON: ON}
LAST, NOT_YET = "\u010a", 20
"""The last token of a prompt, a line's end, and the number in its embedding that forbids the end:
all say something.
"""

CONSTANT = 2.0
"""The first number of every embedding, where the others are about 1; no layer changes it, so it
makes a bias.
"""

TEMPLATE = """\
{%- if tools %}<|im_start|>tools
{{ tools | tojson }}<|im_end|>
{% endif %}
{%- for message in messages %}
{%- if message.role == 'system' and not loop.first %}{{ raise_exception('The system message comes first.') }}{% endif %}
{{- '' }}<|im_start|>{{ message.role }}
{{ message.content }}
{%- for call in message.tool_calls or [] %}<tool_call>{{ call.function | tojson }}</tool_call>{% endfor %}<|im_end|>
{% endfor %}
{%- if add_generation_prompt %}<|im_start|>assistant
{% set called = ((tools or [{}])[0].function or {}).name %}
{%- if called and messages[-1].role != 'tool' %}<tool_call>{"name": {{ called | tojson }}, "arguments":
{%- elif 'for ever' in messages[-1].content %} and on{% endif %}{% endif %}"""  # noqa: E501 - the lines of a text


def tokenizer() -> PreTrainedTokenizerFast:
    """Bytes, words with a space before them, and the special tokens."""
    tokens = [
        *sorted(pre_tokenizers.ByteLevel.alphabet()),
        *(f"\u0120{word}" for word in WORDS.split()),
    ]
    created = Tokenizer(models.BPE({token: place for place, token in enumerate(tokens)}, []))
    created.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    created.decoder = decoders.ByteLevel()
    created.add_special_tokens([AddedToken(END, special=True), AddedToken(START, special=True)])
    created.add_tokens([AddedToken(token, normalized=False) for token in SPECIAL[2:]])
    fast = PreTrainedTokenizerFast(
        tokenizer_object=created, eos_token=END, model_max_length=CONTEXT
    )
    fast.chat_template = TEMPLATE
    return fast


def model(tokens: PreTrainedTokenizerFast) -> Qwen2ForCausalLM:
    """Noise, the same every time."""
    torch.manual_seed(6)
    size = len(tokens)
    end = tokens.eos_token_id
    begin = tokens.convert_tokens_to_ids(LAST)
    created = Qwen2ForCausalLM(
        Qwen2Config(
            vocab_size=size,
            hidden_size=WIDTH,
            intermediate_size=INNER,
            num_hidden_layers=LAYERS,
            num_attention_heads=HEADS,
            num_key_value_heads=HEADS,
            max_position_embeddings=CONTEXT,
            tie_word_embeddings=False,
            eos_token_id=tokens.eos_token_id,
            bos_token_id=None,
        )
    )
    embedding = torch.randn(size, WIDTH)
    output = torch.randn(size, WIDTH) / 4
    biases = [bias(token) for token in tokens.convert_ids_to_tokens(range(size))]
    embedding[:, 0], output[:, 0] = CONSTANT, torch.tensor(biases)
    for place, pair in enumerate(AFTER.items(), start=1):
        first, then = tokens.convert_tokens_to_ids(pair)
        embedding[first] = 0
        embedding[first, place] = WIDTH**0.5
        output[then, place] = 4
    embedding[begin, NOT_YET] = WIDTH**0.5
    output[end, NOT_YET] = -4
    with torch.no_grad():
        created.model.embed_tokens.weight.copy_(embedding)
        created.lm_head.weight.copy_(output)
        for layer in created.model.layers:
            layer.self_attn.o_proj.weight[0] = layer.mlp.down_proj.weight[0] = 0
    created.generation_config = GenerationConfig(do_sample=True, eos_token_id=end, pad_token_id=end)
    return created


def bias(token: str) -> float:
    """By how much a token is likelier than noise; halves of characters and the special ones are
    not.
    """
    if token == END:
        return 1.5
    if token in SPECIAL:
        return -9.0
    return 1.0 if token.startswith("\u0120") else 0.0 if token.isascii() else -3.0


def write(folder: Path) -> None:
    """Write the model into a cache."""
    home = folder / f"models--{NAME.replace('/', '--')}"
    snapshot = home / "snapshots" / REVISION
    snapshot.mkdir(parents=True)
    (home / "refs").mkdir()
    (home / "refs" / "main").write_text(REVISION)
    tokens = tokenizer()
    tokens.save_pretrained(snapshot)
    model(tokens).save_pretrained(snapshot)


if __name__ == "__main__":
    write(Path(sys.argv[1]))
