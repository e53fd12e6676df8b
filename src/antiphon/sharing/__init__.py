"""Shares the limited resources of a process between tenants: a fair scheduler for each, and its
report.
"""
