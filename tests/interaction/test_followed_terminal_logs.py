"""A terminal log that is followed while its program begins further conversations."""

from pathlib import Path

from support.followed_rig import Rig
from support.log_trees import to_bytes
from support.session_log import JsonObject
from ullage.model.message import TextBlock
from ullage.service.ports.agent_files import Growth, Mark, Pieces, Replaced
from ullage.system.growing_files import GrowingFiles


class CountedFiles(GrowingFiles):
    """The files of this machine, with the number of times that a file was read from its beginning."""

    whole = 0

    def read_on(self, path: Path, mark: Mark | None, origin_id: str = "", *, pieces: Pieces = Pieces.LARGE) -> Growth:
        growth = super().read_on(path, mark, origin_id, pieces=pieces)
        self.whole += isinstance(growth, Replaced)
        return growth


def event(kind: str, **fields: str) -> JsonObject:
    payload = {"id": "1", "msg": {"type": kind, **fields}}
    return {"ts": "2025-08-09T15:51:04.000Z", "dir": "to_tui", "kind": "codex_event", "payload": payload}


def conversation(name: str, answers: int) -> list[JsonObject]:
    said = [event("agent_message", message=f"{name} {number}") for number in range(answers)]
    return [event("session_configured", session_id=name, model="gpt-5-codex"), *said, event("task_complete")]


async def test_a_log_is_not_read_again_for_each_line_of_a_later_conversation(tmp_path: Path) -> None:
    files = CountedFiles()
    rig = Rig(tmp_path, files=files)
    for line in [*conversation("first", 30), *conversation("second", 20), *conversation("third", 31)]:
        rig.add(to_bytes([line]))
        await rig.read()
    # At the first line, at the beginning of the second and the third, and when the third is the longest.
    assert files.whole <= 5
    assert rig.followed.conversation
    said = [
        block.text
        for message in rig.followed.conversation.transcript.view
        for block in message.content
        if isinstance(block, TextBlock)
    ]
    assert said == [f"third {number}" for number in range(31)]
