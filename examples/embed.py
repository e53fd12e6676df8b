"""Use the Responses API inside your program, without a server."""

from antiphon import Antiphon, types

# Without a backend, the model is demo. To use your own, pass `backend="http://127.0.0.1:11434/v1"`. To store the
# responses in a file in your home folder, pass `store="sqlite:///~/answers.db"`.
with Antiphon() as client:
    first = client.responses.create(model="demo", input="My name is Ada.")
    print(first.output_text)

    with client.responses.stream(
        model="demo", input="What is my name?", previous_response_id=first.id, reasoning={"effort": "low"}
    ) as stream:
        for event in stream:
            match event:
                case types.ResponseReasoningTextDeltaEvent(delta=delta):
                    print(f"({delta})", end="")
                case types.ResponseTextDeltaEvent(delta=delta):
                    print(delta, end="")
        second = stream.get_final_response()

    stored = client.responses.retrieve(second.id)
    print()
    print(stored.status, stored.usage and stored.usage.total_tokens, "tokens")
    items = client.responses.input_items.list(second.id)
    print(len(items.data), "input items")
