"""The workspace: every session of one server. Placeholder until its orchestration stands here."""


class Workspace:
    """Owns the open sessions."""
