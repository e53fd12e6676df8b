"""What agents send: requests in the shape in which those of real clients were recorded. Every text
is generated.
"""
