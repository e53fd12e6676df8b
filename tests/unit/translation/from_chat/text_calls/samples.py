"""Answers in which models wrote calls as text, by format, each with what a client must get of it.

The shapes are those of public issues and of the models' own templates; `formats.py` names them. The
words are ours.
"""

from typing import Any, NamedTuple

from antiphon.protocol.tool_bindings import Offer

SHELL = {
    "type": "object",
    "properties": {
        "command": {"type": "array", "items": {"type": "string"}},
        "timeout": {"type": "integer"},
        "note": {"type": "string"},
        "force": {"type": ["boolean", "null"]},
    },
}
READ = {"type": "object", "properties": {"path": {"type": "string"}, "line": {"type": "integer"}}}
PARAMETERS: dict[str, dict[str, Any]] = {
    "shell": SHELL,
    "read_file": READ,
    "read_files": READ,
    "list_files": {"type": "object", "properties": {}},
}
OFFERS = {
    name: Offer(name, name=name, parameters=parameters) for name, parameters in PARAMETERS.items()
}

Call = tuple[str, dict[str, Any]]
LIST: Call = ("list_files", {})


def read(path: str = "a.py", **more: Any) -> Call:
    return ("read_file", {"path": path, **more})


class Sample(NamedTuple):
    """An answer, and what stands in it: text and calls in order."""

    format: str
    about: str
    text: str
    found: tuple[str | Call, ...]


SAMPLES = (
    Sample(
        "hermes",
        "as in the template, with text before it",
        'Let me look.\n\n<tool_call>\n{"name": "read_file", "arguments": {"path": '
        '"a.py"}}\n</tool_call>',
        ("Let me look.\n\n", read()),
    ),
    Sample(
        "hermes",
        "two calls, then text",
        '<tool_call>\n{"name": "read_file", "arguments": {"path": "a.py", "line": '
        "3}}\n</tool_call>\n<tool_call>\n"
        '{"name": "list_files", "arguments": {}}\n</tool_call>\nI wait.',
        (read(line=3), "\n", LIST, "\nI wait."),
    ),
    Sample(
        "hermes",
        "right behind a sentence, without a line break",
        'I look.<tool_call>{"arguments": {"path": "a.py"}, "name": '
        '"read_file"}</tool_call><|im_end|>',
        ("I look.", read()),
    ),
    Sample(
        "hermes",
        "the closing mark inside an argument, and a line break that JSON would have escaped",
        '<tool_call>\n{"name": "read_file", "arguments": {"path": "a '
        '</tool_call>\nb"}}\n</tool_call>',
        (read("a </tool_call>\nb"),),
    ),
    Sample(
        "hermes",
        "without the closing mark, at the end",
        '<tool_call>\n{"name": "read_file", "arguments": "{\\"path\\": \\"a.py\\"}"}',
        (read(),),
    ),
    Sample(
        "hermes",
        "broken JSON between the marks: a bracket is missing",
        '<tool_call>\n{"name": "read_file", "arguments": {"path": "a.py"}\n</tool_call>',
        (read(),),
    ),
    Sample(
        "hermes",
        "broken JSON between the marks: quotes without an escape, and a comma too many",
        '<tool_call>\n{"name": "read_file", "arguments": {"path": "the "a" '
        'file.py",}}\n</tool_call>',
        (read('the "a" file.py'),),
    ),
    Sample(
        "hermes",
        "a list, several objects, and no arguments at all",
        '<tool_call>[{"name": "list_files"}]\n{"type": "function", "function": {"name": '
        '"list_files"}}</tool_call>',
        (LIST, LIST),
    ),
    Sample(
        "qwen-coder",
        "as in the template: values by their schema",
        "I run it.\n\n<tool_call>\n<function=shell>\n<parameter=command>\n['ls', "
        '"-l"]\n</parameter>\n'
        "<parameter=timeout>\n5\n</parameter>\n<parameter=note>\n5\n</parameter>\n"
        "<parameter=force>\nTrue\n</parameter>\n"
        "</function>\n</tool_call>",
        (
            "I run it.\n\n",
            ("shell", {"command": ["ls", "-l"], "timeout": 5, "note": "5", "force": True}),
        ),
    ),
    Sample(
        "qwen-coder",
        "without the opening mark, as Qwen3-Coder leaves it out; tags inside a value",
        "<function=read_file>\n<parameter=path>\n</function> "
        "</parameter>\n\tx\n\n</parameter>\n</function>\n"
        "</tool_call>",
        (read("</function> </parameter>\n\tx\n"),),
    ),
    Sample(
        "qwen-coder",
        "as Llama 3.1 writes it: a JSON object, with tags inside a value",
        '<function=read_file>{"path": "</function> {"}</function>',
        (read("</function> {"),),
    ),
    Sample(
        "seed-oss",
        "as in the template",
        "<seed:tool_call>\n<function=list_files>\n</function>\n</seed:tool_call>",
        (LIST,),
    ),
    Sample(
        "glm",
        "as in the template",
        '<tool_call>shell\n<arg_key>command</arg_key>\n<arg_value>["ls"]</arg_value>\n'
        "<arg_key>note</arg_key>\n"
        "<arg_value>5</arg_value>\n</tool_call>",
        (("shell", {"command": ["ls"], "note": "5"}),),
    ),
    Sample(
        "glm",
        "two calls, on one line and without arguments",
        "So:<tool_call>read_file<arg_key>path</arg_key><arg_value>a.py</arg_value></tool_call><tool_call>list_files\n"
        "</tool_call>",
        ("So:", read(), LIST),
    ),
    Sample(
        "dsml",
        "DeepSeek V3.2: two calls",
        '<｜DSML｜function_calls>\n<｜DSML｜invoke name="shell">\n'
        '<｜DSML｜parameter name="command" string="false">["ls"]</｜DSML｜parameter>\n'
        '<｜DSML｜parameter name="note" string="true">5</｜DSML｜parameter>\n</｜DSML｜invoke>\n'
        '<｜DSML｜invoke name="list_files">\n</｜DSML｜invoke>\n</｜DSML｜function_calls>',
        (("shell", {"command": ["ls"], "note": "5"}), LIST),
    ),
    Sample(
        "dsml",
        "V4's section, in other bars, not closed",
        '<‖DSML‖tool_calls>\n<‖DSML‖invoke name="list_files">\n</‖DSML‖invoke>',
        (LIST,),
    ),
    Sample(
        "dsml-bare",
        "without a section",
        'Now.\n<｜DSML｜invoke name="read_file">\n'
        '<｜DSML｜parameter name="path" string="true">a.py</｜DSML｜parameter>\n'
        "</｜DSML｜invoke>\n",
        ("Now.\n", read(), "\n"),
    ),
    Sample(
        "invoke",
        "MiniMax M2",
        '<minimax:tool_call>\n  <invoke name="shell">\n    <parameter '
        'name="command">["ls"]</parameter>\n  </invoke>\n'
        "</minimax:tool_call>",
        (("shell", {"command": ["ls"]}),),
    ),
    Sample(
        "invoke-bare",
        "Claude's form",
        '<invoke name="read_file">\n<parameter name="path">a.py</parameter>\n<parameter '
        'name="line">7</parameter>\n'
        "</invoke>",
        (read(line=7),),
    ),
    Sample(
        "deepseek",
        "V3 and R1",
        "I read it.<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>read_file\n```json\n"  # noqa: E501 - one text, or a row of a table
        '{"path": "a.py"}\n```<｜tool▁call▁end｜>\n'
        "<｜tool▁call▁begin｜>function<｜tool▁sep｜>list_files\n```json\n{}\n```"
        "<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
        ("I read it.", read(), LIST),
    ),
    Sample(
        "deepseek",
        "V3.1",
        '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>read_file<｜tool▁sep｜>{"path": '
        '"a.py"}<｜tool▁call▁end｜>'
        "<｜tool▁calls▁end｜><｜end▁of▁sentence｜>",
        (read(),),
    ),
    Sample(
        "deepseek",
        "V3.1, broken off at the token at which servers stop",
        '<｜tool▁call▁begin｜>read_file<｜tool▁sep｜>{"path": "a.py"}',
        (read(),),
    ),
    Sample(
        "kimi",
        "as in its guide: two calls",
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.read_file:0<|tool_call_argument_begin|>"
        '{"path": '
        '"a.py"}<|tool_call_end|><|tool_call_begin|>functions.list_files:1<|tool_call_argument_begin|>{}'
        "<|tool_call_end|><|tool_calls_section_end|>",
        (read(), LIST),
    ),
    Sample(
        "kimi",
        "the section in the singular, no prefix of the name, and no end",
        "Well <|tool_call_section_begin|><|tool_call_begin|>\nSo.\n"
        "<|tool_call_section_begin|><|tool_call_begin|>read_file:7"
        '<|tool_call_argument_begin|>{"path": "a.py"}<|tool_call_end|>',
        ("Well <|tool_call_section_begin|><|tool_call_begin|>\nSo.\n", read()),
    ),
    Sample(
        "harmony",
        "gpt-oss, with its analysis before it",
        "<|channel|>analysis<|message|>I read it.<|end|><|start|>assistant<|channel|>commentary "
        "to=functions.read_file "
        '<|constrain|>json<|message|>{"path": "a.py"}<|call|>',
        ("<|channel|>analysis<|message|>I read it.<|end|>", read()),
    ),
    Sample(
        "harmony",
        "the recipient before the channel, and no end",
        '<|start|>assistant to=functions.read_file<|channel|>commentary json<|message|>{"path": '
        '"a.py"}',
        (read(),),
    ),
    Sample(
        "harmony-channel",
        "gpt-oss where the template began the turn",
        '<|channel|>commentary to=functions.read_file <|constrain|>json<|message|>{"path": "a.py"}',
        (read(),),
    ),
    Sample(
        "mistral",
        "a JSON list, as Nemo and Ministral write it",
        'I look.[TOOL_CALLS] [{"name": "read_file", "arguments": {"path": "a.py"}}, '
        '{"name": "list_files", "arguments": {}, "id": "abcdefghi"}]',
        ("I look.", read(), LIST),
    ),
    Sample(
        "mistral",
        "names and arguments, as Devstral writes them, and text behind",
        '[TOOL_CALLS]read_file[ARGS]{"path": "a.py"}[TOOL_CALLS]list_files[ARGS]{}\n\nLet me see.',
        (read(), LIST, "\n\nLet me see."),
    ),
    Sample(
        "mistral",
        "with an id, and with neither",
        '[TOOL_CALLS]read_file[CALL_ID]abc123[ARGS]{"path": "a.py"}[TOOL_CALLS]list_files{}</s>',
        (read(), LIST),
    ),
    Sample(
        "llama",
        "3.1, two calls",
        '<|python_tag|>{"name": "read_file", "parameters": {"path": "a.py"}}; {"name": '
        '"list_files", "parameters": {}}'
        "<|eom_id|>",
        (read(), LIST),
    ),
    Sample(
        "llama",
        "Llama 4",
        '<|python_start|>{"name": "read_file", "parameters": {"path": "a.py"}}<|python_end|>',
        (read(),),
    ),
    Sample(
        "granite",
        "3.0",
        '<|tool_call|>[{"name": "read_file", "arguments": {"path": "a.py"}}]',
        (read(),),
    ),
    Sample(
        "lfm2",
        "as in its model card, with text right behind it",
        '<|tool_call_start|>[read_file(path="a.py"), list_files()]<|tool_call_end|>Checking the '
        "file.",
        (read(), LIST, "Checking the file."),
    ),
    Sample("lfm2", "not closed", "<|tool_call_start|>[read_file(path='a.py')]", (read(),)),
    Sample(
        "gemma",
        "Gemma 4",
        '<|tool_call>call:shell{command:[<|"|>echo "{}",<|"|>],timeout:5,force:true}<tool_call|>',
        (("shell", {"command": ['echo "{}",'], "timeout": 5, "force": True}),),
    ),
    Sample(
        "gemma",
        "FunctionGemma, and a mark inside a string",
        "<start_function_call>call:read_file{path:<escape>a<end_function_call>b<escape>, line: "
        "-2}<end_function_call>",
        (read("a<end_function_call>b", line=-2),),
    ),
    Sample(
        "tool-code",
        "two blocks behind a text",
        'I look.\n\n```tool_code\nprint(default_api.read_file("a.py", line=3))\n```\n'
        "```tool_code\n[list_files()]\n```\n",
        ("I look.\n\n", read(line=3), LIST, "\n"),
    ),
    Sample(
        "pythonic",
        "Llama 3.2 and Gemma 3",
        "[read_file(path='a.py'), shell(command=['ls', \"-l\"], force=null)]",
        (read(), ("shell", {"command": ["ls", "-l"], "force": None})),
    ),
    Sample(
        "json",
        "Llama 3.1",
        '\n{"name": "read_file", "parameters": {"path": "a.py"}}\n',
        ("\n", read(), "\n"),
    ),
    Sample(
        "json",
        "Llama 4, then Qwen2.5-Coder by Ollama, one behind the other",
        '{"type": "function", "name": "read_file", "parameters": {"path": "a.py"}}\n'
        '{"name": "list_files", "arguments": {}}',
        (read(), LIST),
    ),
    Sample(
        "json",
        "in OpenAI's own form",
        '[{"id": "call_1", "type": "function", "function": '
        '{"name": "read_file", "arguments": "{\\"path\\":\\"a.py\\"}"}}]',
        (read(),),
    ),
    Sample(
        "json-block",
        "Llama 3.2 by Ollama",
        '```json\n{"name": "read_file", "parameters": {"path": "a.py"}}\n```',
        (read(),),
    ),
    Sample(
        "phi",
        "Phi-4-mini",
        'functools[{"name": "read_file", "arguments": {"path": "a.py"}}]',
        (read(),),
    ),
)
"""What must be found."""

CALL = '<tool_call>\n{"name": "list_files", "arguments": {}}\n</tool_call>'
INLINE = '<tool_call>{"name": "list_files", "arguments": {}}</tool_call>'

MENTIONS = {
    "inline code": f"Hermes writes `{INLINE}` for it.",
    "inline code of several backticks": f"Hermes writes ``a ` {INLINE}`` for it.",
    "a code block": f"Like this:\n\n```\n{CALL}\n```\n\nThat is all.",
    "a code block of XML in a list": f"1. One\n   ```xml\n{CALL}\n   ```\n",
    "a code block in an indented block": f"    ```json\n    {{}}\n    "
    f"```x\n\nSo:\n\n```\n{CALL}\n```\n",
    "a code block deep in a list": f"- One\n    - Two\n        ```\n        {INLINE}\n        "
    f"```\n```\n{CALL}\n```",
    "a block of tildes": f"~~~~\n```\n{CALL}\n~~~~\n",
    "a longer fence around a block": f"````md\n```\n{CALL}\n```\n````\n",
    "a block that does not end": f"```\n{CALL}\n",
    "an indented block": '    <tool_call>{"name": "list_files", "arguments": {}}</tool_call>\n',
    "a quotation": f"> {INLINE}\n",
    "a sentence": f"A model that writes {INLINE} wants to call it.",
    "the end of a sentence": f"The model writes {INLINE}",
    "the beginning of a sentence": f"{INLINE} is how Hermes calls.",
    "quotation marks": f'It is "{INLINE}" and no more.',
    "parentheses": f"It is so ({INLINE})\n",
    "a table": f"| Hermes | {INLINE} |\n",
    "a list": f"- {INLINE}\n",
    "HTML": f"<code>{INLINE}</code>\n",
    "a tool that is not offered": '<tool_call>\n{"name": "rm", "arguments": {}}\n</tool_call>',
    "a tool whose name only begins like one": '<tool_call>\n{"name": "list_file", "arguments": '
    "{}}\n</tool_call>",
    "two tools, of which one is not offered": '[TOOL_CALLS][{"name":"list_files","arguments":{}}, '
    '{"name":"rm","arguments":{}}]',
    "a template": '<tool_call>\n{"name": "list_files", "arguments": <arguments>}\n</tool_call>',
    "a string that is cut off": '<tool_call>\n{"name": "read_file", "arguments": {"path": '
    '"a\n</tool_call>\n\nWell.',
    "broken JSON": '<tool_call>\n{"name": "list_files", "arguments": {"a": '
    "}}\n</tool_call>\n\nWell.",
    "JSON that breaks off": '<tool_call>\n{"name": "list_files", "arguments": {"a": "b',
    "arguments that are no object": '<tool_call>\n{"name": "list_files", "arguments": '
    "[1]}\n</tool_call>",
    "no number": '<tool_call>\n{"name": "list_files", "arguments": {"a": NaN}}\n</tool_call>',
    "JSON behind text": 'The call:\n{"name": "list_files", "arguments": {}}',
    "JSON before text": '{"name": "list_files", "arguments": {}}\nis a call.',
    "JSON with more in it": '{"name": "list_files", "arguments": {}, "colour": "red"}',
    "JSON of something with the name of a tool": '{"name": "list_files"}',
    "an answer in JSON": '{"answer": [1, 2], "name": "list_files"}',
    "a list in JSON": "[1, 2, 3]",
    "Python that computes": "[read_file(path='a' + 'b')]",
    "Python that calls inside a call": "[read_file(path=list_files())]",
    "Python with a name in it": "[read_file(path=path)]",
    "Python behind text": "Call [list_files()]",
    "a program": "```tool_code\nimport os\nlist_files()\n```",
    "a program with an example behind it": "```tool_code\nlist_files()\n```\nruns it.",
    "a JSON block behind text": 'Like this:\n```json\n{"name": "list_files", "arguments": {}}\n```',
    "a JSON block before text": '```json\n{"name": "list_files", "arguments": {}}\n```\nIs it '
    "clear?",
    "a parameter without its end": "<function=read_file>\n<parameter=path>\na.py\n</function>",
    "a JSON object with text after it": '<function=read_file>{"path": "a.py"} and more</function>',
    "a tag that is none": "<tool_callback>\n<div>\n<function>\n",
    "Mistral's mark": "[TOOL_CALLS] is Mistral's mark.",
    "DeepSeek's marks": "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>rm<｜tool▁sep｜>{}"
    "<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
    "gpt-oss without arguments": "<|channel|>commentary to=functions.list_files "
    "<|constrain|>json<|message|>Hm<|call|>",
    "Gemma's call without a key": '<|tool_call>call:read_file{<|"|>a<|"|>}<tool_call|>',
    "only marks": "<tool_call></tool_call>\n<tool_call>\n\n</tool_call>\n<tool_call>",
    "backticks": "``````\n`\n``\n",
}
"""What must stay text, byte for byte, by what it is."""
