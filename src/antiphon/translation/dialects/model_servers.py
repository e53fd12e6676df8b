"""The families of local model servers: one row each, with its evidence."""

from antiphon.translation.dialects.dialect import (
    LOGPROBS,
    PENALTIES,
    SAMPLING,
    TOOLS,
    USUAL,
    Dialect,
)

CHAT_ONLY = frozenset({"seed", "stop"})
"""Parameters of OpenAI's Chat Completions that its Responses API does not have."""

MODEL_SERVERS = (
    Dialect(
        # Its compatibility page lists the fields it reads, `tool_choice` as a string. Recording:
        # `reasoning` replayed. Its Responses API accepts no `custom` and no `namespace` tool
        # (ollama#17618), and no unknown items (#18286). hermes-agent#87900, ollama#13519: calls as
        # content when the model strays from its template's format. Besides OpenAI's own `seed` and
        # `stop` that page lists no sampling parameter: others are dropped silently. A too long
        # prompt is truncated (ollama#3839, #4967); the native API can forbid that
        # (`upstream.ollama`).
        # Its templates write the last message without its end if it is the assistant's
        # (`server/prompt.go`).
        "ollama",
        prefill="last",
        prefix_cache=True,
        checks_answers=True,
        accepts=TOOLS | SAMPLING | PENALTIES | LOGPROBS | {"response_format", "stream_options"},
        effort="reasoning_effort",
        efforts=frozenset({"none", "low", "medium", "high"}),
        reasoning="reasoning",
        replay="tool_turns",
        tool_choice="strings",
        text_calls=True,
        call_content="",
        passthrough=CHAT_ONLY,
        cuts_prompts=True,
        hosts=("ollama.com",),
        ports=(11434,),
        owners=("library",),
    ),
    Dialect(
        # lmstudio-bug-tracker#670: "Invalid tool_choice type: 'object'"; #307: only `text` and
        # `json_schema`. Recordings of its Responses API: arguments of calls arrive whole, at the
        # end. lmstudio-bug-tracker#797, #1592: calls in a format that it does not know stay in the
        # content. Its page "Chat Completions" lists `top_k` and `repeat_penalty` among the
        # parameters. By default it cuts the middle out of a prompt that is too long
        # (lmstudio-js#47).
        "lmstudio",
        prefix_cache=True,
        checks_answers=True,
        accepts=TOOLS | SAMPLING | PENALTIES | {"response_format", "stream_options"},
        effort="reasoning_effort",
        reasoning="reasoning_content",
        replay="tool_turns",
        tool_choice="strings",
        text_calls=True,
        json_formats=frozenset({"json_schema"}),
        call_content="",
        passthrough=CHAT_ONLY | {"logit_bias", "repeat_penalty", "top_k"},
        cuts_prompts=True,
        ports=(1234,),
        owners=("organization_owner",),
    ),
    Dialect(
        # llama.cpp#20733: "System message must be at the beginning" comes from the model's
        # template; its parser reads `tool_choice` as a string. Recordings: `reasoning_content`
        # replayed with absent content. Its Responses API rejects tools of Codex (llama.cpp#20156)
        # and loses images in outputs (#23465). A request goes to the slot with a similar prompt
        # (`--slot-prompt-similarity`), and since #16391 those of other sessions stay in memory
        # (`--cache-ram`): a client need not name a slot. `reasoning_effort` alone switches thinking
        # off since #26045, and did nothing before; templates always read `chat_template_kwargs`.
        # Its README lists the sampling parameters. llama.cpp#17376, #22746: calls that its parser
        # of the template does not know stay in the content.
        # tests/system/model_servers/test_llama_server.py, version 0.5: a pattern with `\d` or
        # without anchors is silently ignored, and was rejected before.
        # Its README describes `--no-prefill-assistant`: by default, the last message of an
        # assistant is continued.
        "llamacpp",
        prefill="last",
        prefix_cache=True,
        checks_answers=True,
        unfit=frozenset({"classes", "anchors"}),
        patterns=True,
        effort="chat_template_kwargs",
        passthrough=CHAT_ONLY
        | {
            "chat_template_kwargs",
            "grammar",
            "logit_bias",
            "min_p",
            "mirostat",
            "mirostat_eta",
            "mirostat_tau",
        }
        | {"repeat_last_n", "repeat_penalty", "top_k", "typical_p"},
        reasoning="reasoning_content",
        replay="tool_turns",
        tool_choice="strings",
        text_calls=True,
        ports=(8080,),
        owners=("llamacpp",),
        servers=("llama.cpp",),
    ),
    Dialect(
        # tests/system/model_servers/test_llama_cpp.py, version 0.3.36: `json_schema` returns a 500,
        # and the `schema` in a `json_object` becomes a grammar; `required` is ignored; null, and
        # parts outside user messages, return a 500; any further request ends a stream; a streamed
        # prompt that is too long returns a 200 with an empty body. Templates require the system
        # message first. Its `CreateChatCompletionRequest` names the sampling parameters. A schema
        # with `\d` in a pattern, or with a bound of thousands, ends its process. Without the
        # `chat_format` of a model with functions it reports no calls, and a call is text.
        "llama-cpp-python",
        prefix_cache=True,
        checks_answers=True,
        unfit=frozenset({"classes", "large"}),
        call_content="",
        text_parts=False,
        accepts=USUAL - {"parallel_tool_calls", "user", "stream_options"},
        tool_choice="functions",
        text_calls=True,
        patterns=True,
        json_formats=frozenset({"json_object", "json_object_schema"}),
        one_at_a_time=True,
        streams_hide_errors=True,
        passthrough=CHAT_ONLY | {"logit_bias", "min_p", "repeat_penalty", "top_k"},
        owners=("me",),
    ),
    Dialect(
        # tests/system/model_servers/test_transformers.py, `transformers serve` 5.23.0: it accepts
        # OpenAI's fields and uses few; it reads `frequency_penalty` as a repetition penalty, with a
        # 500 below 0. It parses the arguments of calls, reads text parts as separate words, drops
        # other fields of a message. Templates require the system message first. Sampling is set by
        # `generation_config`, JSON in a string. It parses the calls of few families
        # (transformers#40620).
        "transformers",
        checks_answers=True,
        call_content="",
        text_parts=False,
        accepts=SAMPLING | {"tools"},
        text_calls=True,
        passthrough=frozenset({"generation_config"}),
    ),
    Dialect(
        # vllm#38488: only `reasoning` is read back, `reasoning_content` is dropped silently;
        # unknown keys are ignored; vllm#42407: templates require the system message first.
        # Recordings of its Responses API: a forced call streams as text and becomes
        # a call only at the end; a result without a user message after it is a 400.
        # `reasoning_effort` sets the template's `enable_thinking` only since vllm#43401;
        # Mistral's tokenizer rejects `chat_template_kwargs`, which is learned.
        # Its page "OpenAI-Compatible Server" lists the extra parameters. vllm#46863, #39056:
        # a `--tool-call-parser` for another format leaves the model's calls in the content,
        # and every parser leaves calls in reasoning that was not closed.
        # `ChatCompletionRequest` has `continue_final_message`.
        "vllm",
        prefill="continue",
        prefix_cache=True,
        checks_answers=True,
        patterns=True,
        effort="chat_template_kwargs",
        passthrough=CHAT_ONLY
        | {
            "bad_words",
            "chat_template_kwargs",
            "length_penalty",
            "logit_bias",
            "min_p",
            "min_tokens",
        }
        | {
            "mm_processor_kwargs",
            "repetition_penalty",
            "skip_special_tokens",
            "stop_token_ids",
            "structured_outputs",
        }
        | {"top_k"},
        reasoning="reasoning",
        replay="always",
        text_calls=True,
        ports=(8000,),
        owners=("vllm",),
        servers=("vllm",),
    ),
    Dialect(
        # sglang#40082: system message first; sends and reads `reasoning_content`. Its Responses API
        # loses images in outputs (sglang#34927). Its page "OpenAI APIs" switches thinking by
        # `chat_template_kwargs`, as Qwen's page on SGLang does, and names the extra parameters.
        # sglang#19925, #40236: without its parser, or if the model strays from the format, calls
        # stay in the content.
        # Its `ChatCompletionRequest` has `continue_final_message`.
        "sglang",
        prefill="continue",
        prefix_cache=True,
        checks_answers=True,
        patterns=True,
        effort="chat_template_kwargs",
        passthrough=CHAT_ONLY
        | {
            "chat_template_kwargs",
            "ebnf",
            "logit_bias",
            "min_p",
            "min_tokens",
            "regex",
            "repetition_penalty",
        }
        | {"skip_special_tokens", "stop_token_ids", "top_k"},
        reasoning="reasoning_content",
        replay="tool_turns",
        text_calls=True,
        ports=(30000,),
        owners=("sglang",),
        servers=("sglang",),
    ),
)
"""Detected by their port, or by what they report about themselves."""
