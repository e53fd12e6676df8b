"""chat: stream."""
