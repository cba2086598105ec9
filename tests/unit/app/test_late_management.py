"""A workspace that loads automatic management late: an agent's conversation is warned of all the same, and needs it no
earlier."""

import json
import subprocess
import sys
from pathlib import Path

from support.claude_log import ClaudeLog
from support.command_line import PATIENCE

# Reads each file as a follower does, and prints after each the warnings so far and whether management is loaded.
FOLLOW = """
import asyncio, json, sys
from pathlib import Path
from ullage.agents.transcripts import read
from ullage.app.compose import open_workspace
from ullage.service.sessions import import_or_continue

class Listener:
    warnings = []
    def session_updated(self, session_id, update):
        if getattr(update, "severity", "") == "warning":
            self.warnings.append(update.title)

async def follow(store, *files):
    with open_workspace(Path(store)) as workspace:
        workspace.bus.listen(Listener())
        for file in files:
            await import_or_continue(workspace, read(Path(file).read_bytes()), "")
            print(json.dumps([len(Listener.warnings), "ullage.service.compact.automatic" in sys.modules]))

asyncio.run(follow(*sys.argv[1:]))
"""


def test_a_conversation_near_its_agents_threshold_is_warned_of_although_management_is_loaded_late(
    tmp_path: Path,
) -> None:
    log, files = ClaudeLog(), list[Path]()
    for number, tokens in enumerate((120_000, 123_000, 126_000, 163_000, 164_000)):
        files.append(tmp_path / f"{number}.jsonl")
        files[-1].write_bytes(log.ask(f"Step {number}.").answer(tokens).data)
    words = [sys.executable, "-c", FOLLOW, str(tmp_path / "sessions.db"), *map(str, files)]
    ran = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert ran.stderr == ""
    assert [json.loads(line) for line in ran.stdout.splitlines()] == [[0, False]] * 3 + [[1, True]] * 2
