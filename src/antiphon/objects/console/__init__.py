"""The console's views of responses: lists, details of one response, figures, and live changes."""
