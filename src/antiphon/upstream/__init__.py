"""Everything towards backends: the contract, the HTTP client, discovery, and the scripted demo."""
