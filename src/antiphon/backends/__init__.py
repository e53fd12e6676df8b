"""Chat Completions servers, real and scripted, behind one interface."""
