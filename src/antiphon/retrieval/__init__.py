"""The search of vector stores: embeddings, nearest chunks, terms."""
