"""Tools of an MCP server: the checker runs the MCP server, and the tested server lists and calls
its tools.
"""

from antiphon_verify.areas.responses.mcp import approval, calls, fields
from antiphon_verify.case import cases_of

CASES = cases_of(calls, approval, fields)
