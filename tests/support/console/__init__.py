"""A scripted server behind the console: the contract of `/admin/v1` with data that a test
chooses.
"""
