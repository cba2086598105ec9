"""The receipts of what was given back to a session, one line each, which `ullage.system.next_to_store` reads."""

import os
import time

from ullage.cli.hooks.bounded_lines import append_line
from ullage.cli.hooks.printed import quoted
from ullage.cli.statusline.files import remove_old

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

# Bytes: some fifty briefs.
_LONGEST = 600_000
# Seconds after which the receipts of a session are removed.
_KEPT = 90 * 86_400


def note_receipt(
    store: str, texts: "Mapping[str, str]", numbers: "Mapping[str, int]", counts: "Mapping[str, int]"
) -> None:
    """Adds a receipt, a line of JSON, to those of a session.

    - `texts`: `session`, an id that a file can be named after; `agent`; `transcript`, the path of the agent's file;
      `why` and `text`.
    - `numbers`: `characters` and `tokens`.
    - `counts`: how many losses of each kind are in the text.

    All but the first three are as in `GivenBack`. Raises `OSError`.
    """
    folder = f"{store}.given"
    path = f"{folder}/{texts['session']}.jsonl"
    if not os.path.isdir(folder):  # noqa: PTH112
        os.makedirs(folder, 0o700, exist_ok=True)  # noqa: PTH103
    if not os.path.exists(path):  # noqa: PTH110
        remove_old(folder, _KEPT)
    at = time.time_ns() // 1_000_000
    told = [f"{quoted(name)}:{quoted(text)}" for name, text in texts.items()]
    told += [f"{quoted(name)}:{number}" for name, number in numbers.items()]
    by_kind = ",".join(f"{quoted(kind)}:{count}" for kind, count in counts.items())
    append_line(path, f'{{"at":{at},{",".join(told)},"counts":{{{by_kind}}}}}\n'.encode(), _LONGEST)
