"""Spells the names of methods for each language."""


def constant(method: str) -> str:
    """Spells `session/append` as `SessionAppend` and `session/request_permission` as `SessionRequestPermission`."""
    return "".join(part.capitalize() for part in method.replace("_", "/").split("/"))
