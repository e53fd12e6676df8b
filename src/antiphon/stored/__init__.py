"""What was stored, as clients get it back: responses and conversations."""
