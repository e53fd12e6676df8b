"""chat: formats."""
