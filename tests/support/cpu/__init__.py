"""What the tests cost in CPU seconds: measured, scaled to a reference machine, and compared with
budgets.
"""
