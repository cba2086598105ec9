"""The log folded into a transcript, projected into what a model is sent, and where it may be cut."""
