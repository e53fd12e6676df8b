"""The built-in model `demo`: a scripted Chat Completions model, for use without a real one."""
