"""Message formats that providers and benchmarks define. Requests are written, transcripts are read."""
