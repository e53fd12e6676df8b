"""Which tool a call means if its name is not exactly the name of a tool.

| In addition to the name | Example | Evidence |
|---|---|---|
| tokens of the model, with what follows them | `get_weather<|channel|>commentary` | vllm#32587, PR#35906, pi#4439 |
| a recipient | `commentary to=functions.get_weather` | the harmony format, llama.cpp#15181 |
| a namespace, and a number | `functions.get_weather:0` | Kimi K2's tool_call_guidance.md, ollama#12132 |
| whitespace, quotes | ` get_weather ` | |
| another case, other separators | `Get_Weather`, `getWeather` | |

If exactly one offered tool matches what remains, the call is a call of that tool; otherwise the
name stays as it is.
"""  # noqa: E501 - a table, a diagram or an example

import re
from collections.abc import Callable, Collection, Iterable, Mapping

from antiphon.errors import log
from antiphon.protocol.tool_bindings import Kind, Offer
from antiphon.translation.hosted_items import carries_out

_RECIPIENT = re.compile(r"(?:\A|[\s>])to=([^\s<]+)")
_TOKEN = re.compile(r"<[|｜].*?[|｜]>", re.DOTALL)
_NUMBER = re.compile(r":\d+\Z")
_AROUND = " \t\r\n\"'`"


def closest_name(name: str, offers: Collection[Offer]) -> Offer:
    """Return the tool that an unknown name means: models write names as they remember them.

    | What the model writes | What the call is |
    |---|---|
    | the name of one tool in another spelling, with or without its namespace | a call of that tool |
    | a name that models remember for running code or commands | a call of that tool of this server |
    | anything else, if every tool is this server's | a call of this server's that fails, as the model then reads |
    | anything else | the client's: it can know what is meant |
    """  # noqa: E501 - a table, a diagram or an example
    written = _written(name)
    alike = _alike(written, offers)
    hosted = [offer for offer in offers if carries_out(offer)]
    if not alike:
        bare = {_bare(one) for one in written}
        alike = [offer for offer in hosted if not bare.isdisjoint(_REMEMBERED.get(offer.kind, ()))]
    if len(alike) == 1:
        log.debug("The model wrote the name of the tool %r as %r.", alike[0].chat_name, name)
        return alike[0]
    if not hosted or len(hosted) < len(offers):
        return Offer(name, name=name)
    near = (
        alike or [offer for offer in hosted if name.startswith(offer.namespace or name)] or hosted
    )
    return Offer(name, near[0].kind, name, namespace=near[0].namespace, is_hosted=True)


def _written(name: str) -> list[str]:
    """Return what can be the name of a tool: the recipient, or else each text between the tokens of
    the model.
    """
    recipient = _RECIPIENT.search(name)
    parts = [recipient[1]] if recipient else _TOKEN.split(name)
    return [part for one in parts if (part := _NUMBER.sub("", one.strip(_AROUND)))]


def _alike(written: list[str], offers: Collection[Offer]) -> list[Offer]:
    """Return the offers with one of these names in the closest spelling that any offer has."""
    without_namespace = [re.split(r"[.:/]", one)[-1] for one in written]
    for names in (written, without_namespace):
        for spell in _SPELLINGS:
            spelt = set(map(spell, names)) - {""}
            found = [offer for offer in offers if not spelt.isdisjoint(map(spell, _names(offer)))]
            if found:
                return found
    return []


def _names(offer: Offer) -> Iterable[str]:
    return (offer.chat_name, offer.name)


def _bare(name: str) -> str:
    return "".join(letter for letter in name.casefold() if letter.isalnum())


_SPELLINGS: tuple[Callable[[str], str], ...] = (str, str.casefold, _bare)

_REMEMBERED: Mapping[Kind, frozenset[str]] = {
    "code_interpreter": frozenset(
        {"ipython", "jupyter", "pythoninterpreter", "runpython", "executepython"}
    )
    | {"pythontool", "runcode", "executecode"},
    "shell": frozenset(
        {"bash", "terminal", "exec", "containerexec", "runcommand", "runshell", "executecommand"}
    ),
}
"""Names that models write on their own, letters only."""
