"""Names of methods as the languages spell them."""


def constant(method: str) -> str:
    """`session/append` as `SessionAppend`, `session/request_permission` as `SessionRequestPermission`."""
    return "".join(part.capitalize() for part in method.replace("_", "/").split("/"))
