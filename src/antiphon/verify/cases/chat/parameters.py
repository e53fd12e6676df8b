"""chat: parameters."""
