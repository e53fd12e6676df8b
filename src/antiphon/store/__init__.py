"""Where responses and their items are kept."""
