"""The context engine as plain synchronous objects, for programs that run their own agent."""
