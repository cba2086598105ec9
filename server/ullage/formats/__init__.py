"""Message formats that providers and benchmarks define: requests are written, transcripts are read."""
