"""Wrong frames at the doors."""

import asyncio

from attacks.attack import Ground, Outcome
from attacks.fuzzing import fuzz
from attacks.open_doors import DOORS


def wrong_frames(ground: Ground) -> Outcome:
    """Guards against frames that get no answer or a wrong one, or change a session: random frames at both doors.
    `./scripts/fuzz` sends more of them."""
    count, seed = ground.times(300, 20_000), ground.chance.randrange(10_000)
    faults: list[str] = []
    for door in DOORS:
        opened = DOORS[door](ground.folder / f"{door}.db")
        outcome = asyncio.run(fuzz(opened, seed, range(count)))
        faults += [f"{door}: {fault}" for fault in outcome.faults]
    return Outcome(tried=count * len(DOORS), survived="every frame got what it was owed", faults=tuple(faults))
