"""Attacks Ullage and prints a table of what was tried and what survived: `./scripts/chaos`.

It takes a few minutes, and far longer with `--long`. Exit status 1 if an attack found a fault. The same seed attacks
in the same way, as far as the system's own timing allows; `--only` tries one frame or history again. Needs a system
with POSIX signals and limits.
"""

import argparse
import faulthandler
import logging
import random
import resource
import sys
import tempfile
import time
from pathlib import Path

from rich.console import Console
from rich.table import Table

from attacks.attack import Ground
from attacks.disks import no_shared_memory, read_only_disk
from attacks.doors import wrong_frames
from attacks.laws import edit_laws
from attacks.names import hostile_names
from attacks.settings import killed_wire
from attacks.stores import damaged_store, full_disk

ATTACKS = {
    "full-disk": full_disk,
    "read-only-disk": read_only_disk,
    "damaged-store": damaged_store,
    "no-shared-memory": no_shared_memory,
    "wrong-frames": wrong_frames,
    "hostile-names": hostile_names,
    "killed-wire": killed_wire,
    "edit-laws": edit_laws,
}
# Bytes of memory for this process and each of its children, so that an attack which succeeds harms no machine.
_MEMORY = 4_000_000_000
# Seconds after which a run that hangs is ended, with a traceback.
_SHORT, _LONG = 1_800, 6 * 3_600


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/chaos", description=__doc__)
    parser.add_argument("--long", action="store_true", help="try each attack 20 times as often, or more")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int, help="of wrong-frames or edit-laws the one of that number")
    parser.add_argument("attacks", nargs="*", metavar="ATTACK", help=f"only these: {', '.join(ATTACKS)}")
    given = parser.parse_args()
    if unknown := set(given.attacks) - ATTACKS.keys():
        parser.error(f"there is no attack {', '.join(sorted(unknown))}; there are {', '.join(ATTACKS)}")
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    faulthandler.dump_traceback_later(_LONG if given.long else _SHORT, exit=True)
    logging.disable(logging.WARNING)
    table = Table("attack", "tried", "survived", "seconds", title=f"seed {given.seed}")
    faults: list[str] = []
    for name in given.attacks or ATTACKS:
        began = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            chance = random.Random(f"{given.seed} {name}")
            ground = Ground(folder=Path(folder), chance=chance, is_long=given.long, seed=given.seed, only=given.only)
            outcome = ATTACKS[name](ground)
        table.add_row(name, f"{outcome.tried:,}", outcome.survived, f"{time.monotonic() - began:,.0f}")
        faults += [f"{name}: {fault}" for fault in outcome.faults]
        # A later attack may hang.
        print(f"{name}: {outcome.survived}", *outcome.faults, sep="\n  ", file=sys.stderr, flush=True)
    console = Console(width=None if sys.stdout.isatty() else 120)
    console.print(table)
    for fault in faults:
        console.print(f"FAULT  {fault}", highlight=False, markup=False)
    console.print("there are faults" if faults else "nothing was lost, hung, or shown that should not be")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
