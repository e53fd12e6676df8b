"""Check the event stream of any server that implements the Responses API."""

import json
from urllib.request import Request, urlopen

from antiphon.testing import check_event_stream
from antiphon.translation import EventDecoder

request = Request(
    "http://127.0.0.1:8321/v1/responses",
    data=json.dumps({"model": "demo", "input": "Hello!", "stream": True}).encode(),
    headers={"content-type": "application/json", "authorization": "Bearer none"},
)
with urlopen(request) as answer:
    decoder = EventDecoder()
    data = [*decoder.feed(answer.read()), *decoder.finish()]

events = [json.loads(one) for one in data if one != b"[DONE]"]
violations = check_event_stream(events)
for violation in violations:
    print(violation)
print(f"{len(events)} events,", "invalid" if violations else "valid")
