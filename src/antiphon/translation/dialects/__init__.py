"""How Chat Completions backends differ."""
