"""Transport: what lies beneath both."""
