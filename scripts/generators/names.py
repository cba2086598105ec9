"""Names of methods as the languages spell them."""


def constant(method: str) -> str:
    """`session/append` as `SessionAppend`."""
    return "".join(part.capitalize() for part in method.split("/"))
