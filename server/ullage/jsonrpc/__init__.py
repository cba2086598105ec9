"""JSON-RPC 2.0 sans I/O: lines and messages as values, and what a peer owes to the other."""
