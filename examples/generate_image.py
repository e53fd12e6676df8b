"""Draw an image, change it, and save both: `python generate_image.py FOLDER`.

The server needs a model that makes images: `ANTIPHON_IMAGES_MODEL=demo antiphon` draws simple shapes.
"""

import base64
import sys
from pathlib import Path

from openai import OpenAI

folder = Path(sys.argv[1])
client = OpenAI(base_url="http://127.0.0.1:8321/v1", api_key="none")
tool = {"type": "image_generation", "size": "512x512", "partial_images": 2}

response = None
for number, text in enumerate(("Draw a red circle on white.", "Change it to a blue circle."), 1):
    stream = client.responses.create(
        model="demo", input=text, tools=[tool], stream=True, previous_response_id=response and response.id
    )
    for event in stream:
        if event.type == "response.image_generation_call.partial_image":
            print("Partial image", event.partial_image_index)
        elif event.type == "response.completed":
            response = event.response
    for item in response.output:
        if item.type == "image_generation_call":
            path = folder / f"image-{number}.{item.output_format}"
            path.write_bytes(base64.b64decode(item.result))
            print(item.action, item.size, path.name)
    print(response.output_text)
