"""What servers lose that make chat completions of the answers of another API."""

from typing import Any

from antiphon_verify.areas.chat.stream import chunks_of, text_of
from antiphon_verify.areas.chat.tools import ONE, USER, calls_of, name_of, result
from antiphon_verify.case import case
from antiphon_verify.reading import at, is_text, listed, preview
from antiphon_verify.replies.chat import conversion as replies
from antiphon_verify.replies.chat import tools
from antiphon_verify.requirement import Stop, may, must, should
from antiphon_verify.samples import CHAT_TOOLS, WEATHER_QUESTION, accepted, png
from antiphon_verify.trial import Steps, Trial

API = "chat-api create"

RESULT = "It is 21 degrees."


@case(
    must(
        "chat:conversion:one-token",
        "issue litellm#37710",
        "A text that is cut off after one token is a completion, with the finish reason `length`.",
        fault=[tools.TEXT],
    ),
    good=[replies.CUT],
)
def a_text_is_cut_after_one_token(trial: Trial) -> Steps:
    """Request a long text with a limit of one token."""
    prompt = "Count from one to one hundred, in words."
    completion = trial.completion((yield from trial.chat(prompt, max_tokens=1)))
    reason = at(completion, "choices", 0, "finish_reason")
    trial.expect("chat:conversion:one-token", reason == "length", preview(reason))


def is_doubled(text: str) -> bool:
    """Whether a text is another one, twice."""
    half = len(text) // 2
    return bool(text) and text[:half].strip() == text[half:].strip()


@case(
    must(
        "chat:conversion:text-once",
        "issue litellm#41109",
        "After a tool result, the deltas of a stream contain the text once.",
        fault=[replies.streaming(RESULT, RESULT)],
    ),
    good=[replies.streaming("It is ", "21 degrees.")],
)
def a_text_is_streamed_once(trial: Trial) -> Steps:
    """Stream the answer after a tool result."""
    messages = [USER, ONE, result("call_1", RESULT)]
    exchange = yield from trial.chat(messages, tools=CHAT_TOOLS, stream=True)
    text = text_of(chunks_of(trial, exchange))
    trial.expect("chat:conversion:text-once", not is_doubled(text), text)


@case(
    should(
        "chat:conversion:param",
        "issue litellm#17507",
        "The `param` of an error names a parameter of Chat Completions, as the client sent it.",
        fault=[replies.refusing("input[0].content[0].type")],
    ),
    good=[replies.refusing("messages[0].content[0].type")],
)
def the_parameter_of_an_error_is_one_of_the_clients(trial: Trial) -> Steps:
    """Send a content part of an unknown type."""
    content = [{"type": "no_such_part", "text": "Hello."}]
    exchange = yield from trial.chat([{"role": "user", "content": content}])
    param = at(exchange.json, "error", "param")
    if not is_text(param):
        trial.skip("chat:conversion:param", "The error has no `param`.")
    else:
        trial.expect("chat:conversion:param", param.startswith("messages"), param)


@case(
    should(
        "chat:conversion:allowed-tools",
        API,
        "With `allowed_tools` as `tool_choice` the model calls only tools among them.",
        fault=[replies.OTHER],
    ),
    good=[tools.GOOD],
)
def only_an_allowed_tool_is_called(trial: Trial) -> Steps:
    """Allow one of two tools, and require a call."""
    allowed = [{"type": "function", "function": {"name": "get_weather"}}]
    choice = {"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": allowed}}
    exchange = yield from trial.chat(WEATHER_QUESTION, tools=CHAT_TOOLS, tool_choice=choice)
    trial.offered(exchange)
    names = {name_of(one) for one in calls_of(trial.completion(exchange))}
    trial.expect("chat:conversion:allowed-tools", names == {"get_weather"}, sorted(map(str, names)))


def is_custom(call: Any) -> bool:
    """Whether this is a call of the custom tool `say`."""
    is_named = at(call, "type") == "custom" and at(call, "custom", "name") == "say"
    return is_named and isinstance(at(call, "custom", "input"), str)


@case(
    should(
        "chat:conversion:custom",
        "issue litellm#27276",
        "A call of a custom tool has its `name` and its `input`, a string.",
        fault=[tools.GOOD],
    ),
    good=[replies.CUSTOM],
)
def a_custom_tool_is_called_in_chat(trial: Trial) -> Steps:
    """Require the call of a custom tool."""
    tool = {"type": "custom", "custom": {"name": "say", "description": "Say a text aloud."}}
    choice = {"type": "custom", "custom": {"name": "say"}}
    exchange = yield from trial.chat("Say hello aloud.", tools=[tool], tool_choice=choice)
    trial.offered(exchange)
    calls = calls_of(trial.completion(exchange))
    trial.expect("chat:conversion:custom", len(calls) == 1 and is_custom(calls[0]), preview(calls))


@case(
    may(
        "chat:conversion:functions",
        API,
        "A call of one of the legacy `functions` is a `function_call`, which is also the finish "
        "reason.",
        fault=[tools.GOOD],
    ),
    good=[replies.FUNCTION],
)
def a_legacy_function_is_called(trial: Trial) -> Steps:
    """Require a call with `functions` and `function_call`."""
    functions = [tool["function"] for tool in CHAT_TOOLS]
    choice = {"name": "get_weather"}
    exchange = yield from trial.chat(WEATHER_QUESTION, functions=functions, function_call=choice)
    trial.offered(exchange)
    first = at(listed(trial.completion(exchange), "choices"), 0)
    if is_text(at(first, "message", "content")):
        raise Stop("not offered", preview(first))
    name = at(first, "message", "function_call", "name")
    is_right = name == "get_weather" and at(first, "finish_reason") == "function_call"
    trial.expect("chat:conversion:functions", is_right, preview(first))


THOUGHT = {"type": "reasoning.text", "text": "I look.", "format": "unknown", "index": 0}

PICTURE = [{"type": "image_url", "image_url": {"url": png("red")}}]

ACCEPTED = (
    accepted(
        should(
            "chat:conversion:reasoning-details",
            "issue litellm#22448",
            "A message with tool calls can return the `reasoning_details` of its answer.",
        ),
        tools=CHAT_TOOLS,
        messages=[
            USER,
            ONE | {"reasoning_content": "I look.", "reasoning_details": [THOUGHT]},
            result("call_1"),
        ],
    ),
    accepted(
        should(
            "chat:conversion:effort-with-tools",
            "issue litellm#33221",
            "`reasoning_effort` is accepted together with tools.",
        ),
        tools=CHAT_TOOLS,
        reasoning_effort="low",
    ),
    accepted(
        should(
            "chat:conversion:named-prompt",
            API,
            "`prompt_cache_key`, `safety_identifier` and `verbosity` are accepted.",
        ),
        prompt_cache_key="chat-1",
        safety_identifier="user-1",
        verbosity="low",
    ),
    accepted(
        may(
            "chat:conversion:picture-result",
            "issue oh-my-pi#5850",
            "A tool result can be a list with an image.",
        ),
        tools=CHAT_TOOLS,
        messages=[USER, ONE, result("call_1", PICTURE)],
    ),
)
