"""The API's operations on stored objects, such as responses and conversations."""
