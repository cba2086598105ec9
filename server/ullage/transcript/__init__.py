"""Folds the log into a transcript, projects the transcript to the view that a model is sent, and says where a view may
be cut."""
