"""Version 2 of the Agent Client Protocol at the edge: its shapes from and to those of version 1, which all else has."""
