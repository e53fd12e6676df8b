"""The `image_generation` tool: images from a server that generates them."""
