"""Ollama's native API as a Chat Completions API, in both directions, without I/O."""
