"""The built-in model `demo`: a scripted Chat Completions model, for when no real one is near."""
