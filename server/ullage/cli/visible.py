"""Foreign text in what is printed around results: names of files, errors of others. Imports nothing, as errors need it
everywhere."""


def visible(text: str) -> str:
    r"""Returns the text with an escape such as `\x1b` in place of each character that a terminal would obey or not
    show."""
    return "".join(one if one.isprintable() else ascii(one)[1:-1] for one in text)
