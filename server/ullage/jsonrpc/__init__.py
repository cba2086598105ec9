"""JSON-RPC 2.0 without I/O: lines and messages as values, and the state of one side of a connection."""
