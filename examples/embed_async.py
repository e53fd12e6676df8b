"""Stop reading the stream of a background response, then resume it without losing an event."""

import asyncio

from antiphon import AsyncAntiphon, ClientError, types


async def main() -> None:
    async with AsyncAntiphon() as client:
        try:
            await client.responses.create(model="demo", input="Hi", temperature=9)
        except ClientError as error:
            print(error.status_code, error.param)

        last, response_id = -1, ""
        async with client.responses.stream(model="demo", input="Write a story.", background=True) as stream:
            async for event in stream:
                last = event.sequence_number
                if isinstance(event, types.ResponseCreatedEvent):
                    response_id = event.response.id
                if isinstance(event, types.ResponseTextDeltaEvent):
                    print(event.delta, end="")
                    break  # the reader disconnects, and the response continues

        async with await client.responses.retrieve(response_id, stream=True, starting_after=last) as stream:
            async for event in stream:
                if isinstance(event, types.ResponseTextDeltaEvent):
                    print(event.delta, end="")
            final = await stream.get_final_response()
        print(f"\n{final.status}, {len(final.output)} item")


asyncio.run(main())
