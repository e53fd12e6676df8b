"""Web search: search providers, page fetches, and the texts that the model receives from both."""
