"""The families of services: one row each, with its evidence."""

from antiphon.translation.dialects.dialect import (
    LOGPROBS,
    OPENAI_ONLY,
    PENALTIES,
    SAMPLING,
    TOOLS,
    USUAL,
    Dialect,
)

SERVICES = (
    Dialect(
        # Recordings: assistant content absent, null and "" all pass; gpt-5 and o-series reject
        # `max_tokens`. `metadata` is never sent to a backend: here it is rejected unless `store` is
        # true, and it labels our response.
        "openai",
        system_role="developer",
        refusal_field=True,
        max_tokens="max_completion_tokens",
        accepts=USUAL | OPENAI_ONLY,
        effort="reasoning_effort",
        tool_choice="full",
        strict=True,
        root_choices=True,
        system_messages="several",
        file_part="file",
        # Its reasoning, and the tools that it runs, are available only there.
        api="responses",
        hosts=("api.openai.com", ".api.openai.com"),
    ),
    Dialect(
        # Recordings (o4-mini, gpt-5-mini): `system`, `max_completion_tokens`
        # and `reasoning_effort` pass.
        "azure",
        refusal_field=True,
        max_tokens="max_completion_tokens",
        accepts=USUAL | {"verbosity", "prompt_cache_key"},
        effort="reasoning_effort",
        strict=True,
        root_choices=True,
        system_messages="several",
        file_part="file",
        # Depends on the resource's region and on what precedes it.
        api="probe",
        hosts=(".openai.azure.com", ".services.ai.azure.com", ".cognitiveservices.azure.com"),
    ),
    Dialect(
        # Recordings: `reasoning` in answers; unknown message fields are rejected: "property 'x' is
        # unsupported". vercel/ai#16540: "json mode cannot be combined with tool/function calling".
        "groq",
        formats_with_tools=False,
        max_tokens="max_completion_tokens",
        accepts=TOOLS | SAMPLING | {"response_format", "user", "stream_options"},
        effort="reasoning_effort",
        efforts=frozenset({"none", "low", "medium", "high"}),
        reasoning="reasoning",
        replay="tool_turns",
        strict=True,
        hosts=("api.groq.com",),
    ),
    Dialect(
        # Its thinking guide: `reasoning_content` must be sent back with every turn that called a
        # tool, empty or not (opencode#24722); in other turns it is ignored. Only `json_object`.
        # Recordings: content "" next to calls.
        "deepseek",
        accepts=USUAL - {"user"},
        effort="thinking",
        reasoning="reasoning_content",
        replay="tool_turns",
        reasoning_required=True,
        json_formats=frozenset({"json_object"}),
        call_content="",
        hosts=("api.deepseek.com",),
        owners=("deepseek",),
    ),
    Dialect(
        # crush#1590: any unknown field is a 422 `extra_forbidden`, including `reasoning_content`;
        # anon-kode#53: no `stream_options`, usage is sent anyway. Recordings: thinking parts,
        # `document_url` parts, content "". Its reference of the API: a `prefix` in the last message
        # of an assistant begins the answer.
        "mistral",
        prefill="prefix",
        accepts=TOOLS | SAMPLING | PENALTIES | {"response_format"},
        effort="reasoning_effort",
        efforts=frozenset({"none", "high"}),
        reasoning="thinking",
        replay="tool_turns",
        strict=True,
        call_content="",
        file_part="document_url",
        file_urls=True,
        short_call_ids=True,
        hosts=("api.mistral.ai", "codestral.mistral.ai"),
        owners=("mistralai",),
    ),
    Dialect(
        # Recordings: `reasoning: {effort}` in, `reasoning` and signed `reasoning_details` out and
        # back; `file` parts. Its Responses API, a beta, was recorded sending a text in one piece.
        "openrouter",
        accepts=USUAL | {"verbosity", "prompt_cache_key", "service_tier"},
        effort="reasoning",
        reasoning="reasoning",
        replay="always",
        strict=True,
        file_part="file",
        file_urls=True,
        hosts=("openrouter.ai",),
    ),
    Dialect(
        # Recordings: the same `reasoning` and `reasoning_details` as OpenRouter.
        "vercel",
        effort="reasoning",
        reasoning="reasoning",
        replay="always",
        strict=True,
        hosts=("ai-gateway.vercel.sh",),
    ),
    Dialect(
        # kilocode#10375: "property 'messages.2.assistant.reasoning_content' is unsupported";
        # recording: reasoning goes back in <think> tags. agno#4508: `parallel_tool_calls=False` is
        # rejected. openai-agents-python#656: `"tools" is incompatible with "response_format"`.
        "cerebras",
        formats_with_tools=False,
        max_tokens="max_completion_tokens",
        accepts=SAMPLING
        | LOGPROBS
        | {"tools", "tool_choice", "response_format", "user", "stream_options"},
        effort="reasoning_effort",
        efforts=frozenset({"none", "low", "medium", "high"}),
        reasoning="think_tags",
        replay="tool_turns",
        strict=True,
        call_content="",
        hosts=("api.cerebras.ai",),
    ),
    Dialect(
        # Recordings: `reasoning_content` replayed with absent content. Reasoning models reject
        # penalties; those that reject the effort respond with "does not support parameter
        # reasoningEffort", which is learned.
        "xai",
        accepts=USUAL - PENALTIES,
        effort="reasoning_effort",
        efforts=frozenset({"none", "low", "medium", "high"}),
        reasoning="reasoning_content",
        replay="tool_turns",
        strict=True,
        hosts=("api.x.ai",),
        owners=("xai",),
    ),
    Dialect(
        # Recordings: `extra_content.google.thought_signature` on calls, which must be sent back
        # (400 without, nanobot#2453); no field for reasoning text. RSSBox#132: penalties are
        # rejected. A chain that another model began has none (NeMo-Gym#2374, langchain#37347);
        # Google's page on thought signatures has a placeholder for it.
        "gemini",
        signs_calls=True,
        accepts=SAMPLING | {"tools", "tool_choice", "response_format", "stream_options"},
        effort="reasoning_effort",
        efforts=frozenset({"none", "minimal", "low", "medium", "high"}),
        call_content="absent",
        hosts=(
            "generativelanguage.googleapis.com",
            "aiplatform.googleapis.com",
            ".aiplatform.googleapis.com",
        ),
        owners=("google",),
    ),
    Dialect(
        # Its pages: `reasoning` or `reasoning_content` by model, `reasoning_effort`
        # on reasoning models.
        "together",
        effort="reasoning_effort",
        reasoning="reasoning",
        replay="tool_turns",
        hosts=("api.together.xyz", "api.together.ai"),
    ),
    Dialect(
        # Its reasoning guide: `reasoning_content` in and out; litellm PR#40682 stopped removing it.
        "fireworks",
        effort="reasoning_effort",
        reasoning="reasoning_content",
        replay="tool_turns",
        hosts=("api.fireworks.ai",),
        owners=("fireworks",),
    ),
    Dialect(
        # No function calling; roles must alternate after the system message; penalties must be
        # above 0 (obsidian-copilot#431). Recordings: usage is sent without a request for it.
        "perplexity",
        alternating=True,
        accepts=SAMPLING | {"response_format"},
        effort="reasoning_effort",
        efforts=frozenset({"minimal", "low", "medium", "high"}),
        json_formats=frozenset({"json_schema"}),
        hosts=("api.perplexity.ai",),
    ),
    Dialect(
        # continue#11600: "reasoning_content is missing in assistant tool call message".
        # nanobot#3939: effort or `thinking`, never both; so only the effort is sent.
        # codex-router#106: a call cannot be forced while it thinks, which `thinking` switches off.
        "moonshot",
        thinking_switch="thinking",
        accepts=(USUAL - LOGPROBS) | {"prompt_cache_key"},
        effort="reasoning_effort",
        reasoning="reasoning_content",
        replay="tool_turns",
        reasoning_required=True,
        call_content="",
        hosts=("api.moonshot.ai", "api.moonshot.cn"),
        owners=("moonshot",),
    ),
    Dialect(
        # Recordings: `thinking` and `reasoning_effort` in, `reasoning_content` back
        # with tool turns.
        "zai",
        accepts=TOOLS | SAMPLING | {"response_format", "stream_options"},
        effort="thinking",
        reasoning="reasoning_content",
        replay="tool_turns",
        json_formats=frozenset({"json_object"}),
        call_content="",
        hosts=("api.z.ai", "open.bigmodel.cn"),
    ),
    Dialect(
        # Recordings: `reasoning_content` out; thinking is switched by `enable_thinking`. Its guide
        # to Qwen's models sends the other parameters as `extra_body`, too.
        "alibaba",
        accepts=TOOLS
        | SAMPLING
        | LOGPROBS
        | {"presence_penalty", "response_format", "stream_options"},
        effort="enable_thinking",
        passthrough=frozenset(
            {"enable_thinking", "repetition_penalty", "seed", "stop", "thinking_budget", "top_k"}
        ),
        reasoning="reasoning_content",
        replay="tool_turns",
        call_content="",
        hosts=(
            "dashscope.aliyuncs.com",
            "dashscope-intl.aliyuncs.com",
            "dashscope-us.aliyuncs.com",
        ),
    ),
    Dialect(
        # A router over providers that differ. Recordings: text parts, images,
        # `stream_options`, `tool_choice` pass.
        "huggingface",
        effort="reasoning_effort",
        hosts=(
            "router.huggingface.co",
            "api-inference.huggingface.co",
            ".endpoints.huggingface.cloud",
        ),
    ),
    Dialect(
        # Recordings: an empty `finish_reason` on complete answers; `reasoning: {effort}`; signed
        # `reasoning_details`.
        "snowflake",
        max_tokens="max_completion_tokens",
        effort="reasoning",
        efforts=frozenset({"low", "medium", "high"}),
        replay="tool_turns",
        ends_without_finish_reason=True,
        hosts=(".snowflakecomputing.com",),
    ),
    Dialect(
        # continue#12936: `json: unknown field "stream_options"`. Recordings:
        # usage is in every chunk.
        "databricks",
        accepts=SAMPLING | LOGPROBS | {"tools", "tool_choice", "response_format"},
        effort="reasoning_effort",
        efforts=frozenset({"low", "medium", "high"}),
        hosts=(".cloud.databricks.com", ".azuredatabricks.net", ".gcp.databricks.com"),
        servers=("databricks",),
    ),
    Dialect(
        # Claude behind LiteLLM and similar gateways: `thinking_blocks` have signatures
        # and must be sent back unchanged with tool turns; unsigned reasoning has no field.
        # Tool results can contain images.
        "anthropic",
        accepts=SAMPLING
        | {
            "tools",
            "tool_choice",
            "parallel_tool_calls",
            "response_format",
            "user",
            "stream_options",
        },
        effort="reasoning_effort",
        replay="tool_turns",
        file_part="file",
        tool_parts=True,
        ports=(4000,),
        owners=("anthropic",),
        servers=("litellm",),
    ),
    Dialect(
        # Anthropic's Messages API, by a Chat request that `translation.to_messages_api` translates.
        # Its pages: a model that thinks cannot be forced to call a tool, and recent models reject
        # both samplings together. Signed thinking of every turn goes back, which keeps the prompt
        # cache. `strict` tools are limited to 20, so they are not sent. An answer that takes more
        # than ten minutes must be streamed.
        "messages",
        accepts=SAMPLING
        | TOOLS
        | {"response_format", "user", "safety_identifier", "service_tier", "stream_options"}
        | {"prompt_cache_retention"},
        effort="reasoning_effort",
        replay="always",
        json_formats=frozenset({"json_schema"}),
        both_samplings=False,
        forced_thinking=False,
        always_streams=True,
        file_part="file",
        file_urls=True,
        pdf_only=True,
        tool_parts=True,
        breakpoints=True,
        # Models before Claude 4.6; later ones reject it in the same words as this server.
        prefill="last",
        api="messages",
        passthrough=frozenset({"stop", "thinking", "thinking_budget", "top_k"}),
        hosts=("api.anthropic.com",),
    ),
)
"""Usually detected by the host of the base URL."""
