"""The `file_search` tool: passages of the files in vector stores, which a model can cite."""
