"""Web search: providers that are asked, pages that are opened, and what the model is told of both."""
