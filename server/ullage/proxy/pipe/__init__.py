"""Lines between the client and the agent, passed on as the bytes they came in."""
