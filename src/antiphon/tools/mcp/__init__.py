"""Tools of other servers, by the Model Context Protocol. The SDK is slow to load: only its first use loads it."""
