"""Drawing on a terminal: values in, lines of styled text out. Nothing here writes anywhere."""
