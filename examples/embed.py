"""The Responses API inside your program, without a server."""

import asyncio

from antiphon import Responses
from antiphon.protocol import events


async def main() -> None:
    # Without a URL it is the scripted model demo; `store="sqlite:///answers.db"` would keep the responses.
    async with Responses() as responses:
        first = await responses.create(model="demo", input="My name is Ada.")
        print(first.output_text)

        reasoning = {"effort": "low"}
        stream = responses.stream(
            model="demo", input="What is my name?", previous_response_id=first.id, reasoning=reasoning
        )
        async for event in stream:
            match event:
                case events.ReasoningTextDelta(delta=delta):
                    print(f"({delta})", end="")
                case events.OutputTextDelta(delta=delta):
                    print(delta, end="")
                case events.Completed(response=response):
                    second = response.id

        stored = await responses.retrieve(second)
        print()
        print(stored["status"], stored["usage"]["total_tokens"], "tokens")
        items = await responses.input_items(second)
        print(len(items["data"]), "items went in")


asyncio.run(main())
