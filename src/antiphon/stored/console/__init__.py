"""What the console shows of responses: lists, one response in detail, figures, and changes as they come."""
