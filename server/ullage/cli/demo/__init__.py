"""The demo: a real server, a real client, and a drawing of what an editor would show."""
