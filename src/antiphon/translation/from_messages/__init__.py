"""A request of Anthropic's Messages API becomes a request for a response."""
