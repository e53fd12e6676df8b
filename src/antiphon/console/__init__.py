"""What the console shows of responses: lists, details of one response, figures, live changes, and
reports.
"""
