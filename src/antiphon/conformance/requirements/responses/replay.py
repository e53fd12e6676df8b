"""What was emitted is accepted back."""

from antiphon.conformance.requirement import Table, must, should

TABLE: Table = (
    must("responses:replay:text", "issue ogx#2299", "The items of a text answer are taken back as input."),
    must("responses:replay:streamed", "issue ogx#2299", "The items of a streamed answer are taken back as input."),
    must("responses:replay:call", "issue vllm#33089", "The items of a call are taken back with the call's output."),
    must("responses:replay:reasoning", "issue agents#1611", "Reasoning is taken back with what follows it."),
    must("responses:replay:unstored", "spec 10", "The items of an unstored answer are taken back."),
    should(
        "responses:replay:dumped", "issue openai-python#3008", "Items are taken back with the nulls that an SDK adds."
    ),
    must(
        "responses:replay:three-turns", "issue vllm#43244", "A history of three turns, all of it sent back, is taken."
    ),
    should("responses:replay:refusal", "spec 5", "A refusal is taken back."),
    should("responses:replay:logprobs", "issue TensorRT-LLM#19223", "Items with log probabilities are taken back."),
    should("responses:replay:cut", "spec 5", "An item that was cut short is taken back."),
)
