"""Run LangChain (`pip install langchain-openai`) and Antiphon in one process, without a server."""

from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from pydantic import SecretStr

import antiphon


@tool
def tide_at(place: str) -> str:
    """Return when the tide is high."""
    return f"In {place} at 14:05."


# Both clients share a store if it is a file. To use your own model, pass `backend="http://127.0.0.1:11434/v1"`.
model = ChatOpenAI(
    model="demo",
    use_responses_api=True,
    api_key=SecretStr("none"),
    http_client=antiphon.http_client(),
    http_async_client=antiphon.async_http_client(),
)
print(model.invoke("My name is Ada.").text)
for chunk in model.stream("Hello!"):
    print(chunk.text, end="")
print()

# A real model decides what to call. The scripted model demo makes the calls that its input spells out.
called = model.bind_tools([tide_at]).invoke('When is the tide high?\ncall tide_at {"place": "Dover"}')
for call in called.tool_calls:
    print(call["name"], tide_at.invoke(call["args"]))
