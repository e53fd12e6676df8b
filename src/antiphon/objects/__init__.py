"""The objects of the API, one class each: what the server and the library call."""
