"""chat: tools."""
