"""What hooks gave back, as it is in the catalogue next to a store."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from ullage.host.side_files import CATALOGUE, beside


def receipts_of(store: Path) -> list[dict[str, Any]]:
    """Returns the receipts of all sessions, the oldest first; none if there is no catalogue."""
    if not beside(store, CATALOGUE).exists():
        return []
    with closing(sqlite3.connect(beside(store, CATALOGUE))) as catalogue:
        return [json.loads(receipt) for (receipt,) in catalogue.execute("SELECT receipt FROM receipts")]
