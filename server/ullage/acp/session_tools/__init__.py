"""What sessions of Ullage's agent have besides the toolbox: MCP servers, a mode, a plan, questions to the user."""
