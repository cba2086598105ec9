"""Makes documents from rows, as an agent's database is read."""

from typing import Any

from ullage.formats.parsing import Document, Line


def database(name: str, *rows: tuple[str, dict[str, Any]]) -> Document:
    """Returns the document of a database. Each row is its table's name and its columns."""
    lines = (Line(number=at, value={"table": table, "row": row}) for at, (table, row) in enumerate(rows, start=1))
    return Document(name=name, lines=tuple(lines))
