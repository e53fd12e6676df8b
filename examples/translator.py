"""Translate a request and its answer over your own connection. `Translator` itself does no I/O."""

import json
from urllib.request import Request, urlopen

from antiphon.translation import Translator

translator = Translator({"model": "demo", "input": "Hello!", "stream": True})

# Any Chat Completions server; this one forwards the request to its own model.
request = Request(
    "http://127.0.0.1:8321/v1/chat/completions",
    data=json.dumps(translator.chat_request).encode(),
    headers={"content-type": "application/json"},
)
with urlopen(request) as answer:
    while data := answer.read1(8192):
        for event in translator.feed(data):
            print(event.sequence_number, event.type)

for event in translator.finish():
    print(event.sequence_number, event.type)
print(translator.response.status, translator.response.output_text)
