"""Draw an image, change it, and save both: `python generate_image.py FOLDER`.

The server needs a model that makes images: `ANTIPHON_IMAGES_MODEL=demo antiphon` draws simple shapes.
"""

import base64
import sys
from pathlib import Path

from openai import OpenAI

folder = Path(sys.argv[1])
client = OpenAI(base_url="http://127.0.0.1:8321/v1", api_key="none")


def draw(text: str, name: str, previous: str | None = None) -> str:
    """Have the model make an image, save it, and return the id of the response."""
    with client.responses.stream(
        model="demo",
        input=text,
        tools=[{"type": "image_generation", "size": "512x512", "partial_images": 2}],
        previous_response_id=previous,
    ) as stream:
        for event in stream:
            if event.type == "response.image_generation_call.partial_image":
                print("Partial image", event.partial_image_index)
        response = stream.get_final_response()
    for item in response.output:
        if item.type == "image_generation_call" and item.result:
            (folder / name).write_bytes(base64.b64decode(item.result))
            print(name, item.status, len(item.result))
    print(response.output_text)
    return response.id


first = draw("Draw a red circle on white.", "circle.png")
draw("Change it to a blue circle.", "blue-circle.png", first)
