"""Structured output."""

import json

from antiphon_verify.areas.chat import formats
from tests.unit.conformance.exchanges import Answer, Shown, chunks, error, says, spoiled
from tests.unit.conformance.exchanges.completions import COMPLETION, END, ROLE, chunk

DAY = {"place": {"city": "Paris"}, "weather": "sun", "stops": [{"name": "Louvre", "hour": 9}]}

GOOD = dict.fromkeys(("object", "strict", "loose"), '{"city": "Paris"}') | {"nested": json.dumps(DAY)}

BAD = {
    "object": "[]",
    "strict": '{"city": 75}',
    "loose": "Paris.",
    "nested": json.dumps(DAY | {"stops": [{"name": "Louvre"}]}),
}


def telling(text: str) -> Answer:
    return says(COMPLETION).patched("choices", 0, "message", "content", to=text)


def streaming(text: str) -> Answer:
    return chunks(ROLE, chunk({"content": text[:4]}), chunk({"content": text[4:]}), END)


REFUSED = error("Invalid value.")

EXCHANGES: dict[str, Shown] = {
    **{
        f"chat:formats:{name}": Shown(case, [telling(GOOD[name])], [telling(BAD[name])])
        for case, name in zip(formats.FITTING, formats.ASKED, strict=True)
    },
    **{
        f"chat:formats:{name}-streamed": Shown(case, [streaming(GOOD[name])], [streaming(BAD[name])])
        for case, name in zip(formats.STREAMING, ("object", "strict"), strict=True)
    },
    **spoiled(formats.text_is_a_format, [telling("Hello.")], [REFUSED]),
    **spoiled(formats.a_format_goes_with_tools, [telling("{}")], [REFUSED]),
}
