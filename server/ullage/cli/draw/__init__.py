"""Drawing for a terminal: functions take values and return lines of styled text. Nothing here writes to a terminal."""
