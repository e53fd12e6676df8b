"""chat: errors."""
