"""chat: images."""
