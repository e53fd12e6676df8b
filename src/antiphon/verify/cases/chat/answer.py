"""chat: answer."""
