"""The events and the items of a response become a stream, or a message, of Anthropic's Messages
API.
"""
