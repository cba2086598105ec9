"""The log folded into a transcript, the transcript projected into what a model is sent, and where it may be cut."""
