"""The context engine as plain Python objects, for programs that run their own agent."""
