"""The demo: a real server, a real client, and a picture of what an editor would show."""
