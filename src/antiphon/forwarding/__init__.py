"""Requests that are passed on as they are: chat completions, embeddings, images."""
