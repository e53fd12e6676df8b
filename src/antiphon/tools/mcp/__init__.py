"""Tools of other servers, by the Model Context Protocol. The SDK loads slowly: only its first use
loads it.
"""
