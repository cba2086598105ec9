"""The archive: agents' files byte for byte, compressed, with what several files have in common stored once."""
