"""Wrong frames at the doors, hostile answers of providers, and hostile folders."""

import asyncio
import os
from pathlib import Path

from attacks.attack import Ground, Outcome
from attacks.fuzzing import fuzz
from attacks.open_doors import DOORS
from support.memory_twin import MemoryTwin
from support.wire.clients import DIALECTS, KEY, collect
from support.wire.hostile import ATTACKS, NONSENSE, Pieces, attacked, error_with_key, one_event
from ullage.model.errors import ProviderError
from ullage.model.message import ToolUseBlock
from ullage.service.ports.models import ToolOutcome
from ullage.tools.toolbox import LocalToolbox

# Seconds that one attack of these may take. Most take a hundredth.
_PATIENCE = 120.0


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


def evil_provider(_ground: Ground) -> Outcome:
    """Guards against a provider that fills the memory, hangs a turn, shows the key in an error, or causes an internal
    error. Each dialect gets answers without end, compressed ones, and JSON of another shape."""
    given: list[tuple[str, Pieces, str]] = [(name, pieces, packed) for name, (packed, pieces) in ATTACKS.items()]
    given += [(data, one_event(data), "") for data in NONSENSE]
    given.append(("an error with the key", error_with_key, ""))
    found = [_ask(kind, pieces, packed) for kind in DIALECTS for _, pieces, packed in given]
    names = [f"{kind}, {name}" for kind in DIALECTS for name, *_ in given]
    faults = tuple(f"{name}: {fault}" for name, run in zip(names, found, strict=True) if (fault := asyncio.run(run)))
    return Outcome(tried=len(names), survived=f"{len(names) - len(faults)} ended in words", faults=faults)


async def _ask(kind: str, pieces: Pieces, packed: str) -> str:
    """Returns what is wrong with how the provider took the answer, or an empty text."""
    try:
        async with attacked(kind, pieces, packed) as provider, asyncio.timeout(_PATIENCE):
            await collect(provider)
    except ProviderError as error:
        return "the key is shown" if KEY in str(error) else ""
    except Exception as error:  # noqa: BLE001  (any other error is a fault)
        return repr(error)
    return ""


def hostile_folder(ground: Ground) -> Outcome:
    """Guards against files that stop the tools: named pipes, loops of links, names too long, 3 GB in one file, and
    links out of the folder."""
    project = ground.folder / "project"
    (project / "in").mkdir(parents=True)
    (ground.folder / "secret.txt").write_text("the secret")
    (project / "app.py").write_text("def main(): pass\n")
    os.mkfifo(project / "in" / "pipe")
    (project / "one").symlink_to("other")
    (project / "other").symlink_to("one")
    (project / "out").symlink_to(ground.folder / "secret.txt")
    with (project / "huge").open("wb") as file:
        file.write(b"a line\n" * 2_000)
        file.truncate(3_000_000_000)
    named = [".", "in", "in/pipe", "one", "out", "huge", "../secret.txt", "/etc/passwd"]
    paths = [*named, "n" * 300, "a/" * 3_000, "a\0b"]
    faults = [
        f"{name} {path[:40]!r}: {fault}"
        for name in ("read_file", "list_files", "search_text")
        for path in paths
        if (fault := asyncio.run(_use(project, name, path)))
    ]
    return Outcome(
        tried=3 * len(paths), survived=f"{3 * len(paths) - len(faults)} answered in words", faults=tuple(faults)
    )


async def _use(project: Path, name: str, path: str) -> str:
    given = {"path": path, **({"pattern": "secret|def"} if name == "search_text" else {})}
    use = ToolUseBlock(id="t", name=name, input=given)
    try:
        async with asyncio.timeout(_PATIENCE):
            outcome = await LocalToolbox(lambda _cwd: MemoryTwin(), _recall, _closed).run("s", str(project), use)
    except Exception as error:  # noqa: BLE001  (any error is a fault)
        return repr(error)
    return "it shows what is outside the folder" if "the secret" in outcome.text else ""


async def _recall(_session_id: str, _arguments: object) -> ToolOutcome:
    return ToolOutcome(text="")


async def _closed(_session_id: str, _path: str) -> None:
    return None
