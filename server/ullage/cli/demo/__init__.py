"""The demo: a real server, a real client, and what an editor would show."""
