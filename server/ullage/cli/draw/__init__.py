"""Drawing for a terminal: values in, lines of styled text out. Nothing here writes to a terminal."""
