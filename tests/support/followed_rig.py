"""A workspace that follows one file, which a test writes."""

from collections.abc import Sequence
from pathlib import Path

from support.log_trees import to_bytes
from support.memory_store import MemoryStore
from support.session_log import JsonObject, line, say
from support.workspace import build_test_client
from ullage.model.errors import StoreUnavailable
from ullage.model.events import MessageAppended, Record
from ullage.service.conversation.workspace import Workspace
from ullage.service.follow.followed_file import FollowedFile, Seen
from ullage.service.ports.agent_files import FoundFile, KeptReadings
from ullage.system.growing_files import GrowingFiles


def talk(*texts: str) -> list[JsonObject]:
    """Returns the lines of a conversation of the user and the model in turn."""
    ids = [f"u{number}" for number in range(len(texts))]
    parents = [None, *ids]
    lines = [
        line("user", ids[number], parents[number], text)
        if number % 2 == 0
        else line("assistant", ids[number], parents[number], [say(text)], stop_reason="end_turn")
        for number, text in enumerate(texts)
    ]
    return [one | {"cwd": "/home/user/project"} for one in lines]


class DiskThatFillsUp(MemoryStore):
    """A store that can't be appended to while its disk is full."""

    is_full = False

    def append(self, session_id: str, records: Sequence[Record]) -> None:
        if self.is_full:
            raise StoreUnavailable("the disk is full")
        super().append(session_id, records)


# A piece of a few lines.
IN_PIECES = GrowingFiles(2_000)


class Rig:
    """A workspace that follows one file."""

    def __init__(
        self,
        folder: Path,
        store: MemoryStore | None = None,
        files: GrowingFiles | None = None,
        readings: KeptReadings | None = None,
    ) -> None:
        self.readings = readings
        self.client = build_test_client(store=store or MemoryStore())
        self.workspace: Workspace = self.client.workspace
        self.path = folder / "log.jsonl"
        self.files = files or GrowingFiles()
        self.restart()

    def restart(self) -> None:
        self.followed = FollowedFile(self.workspace, self.files, FoundFile(path=self.path), self.readings)

    async def read(self) -> bool:
        """Looks until the session has the whole file. Returns whether it has become longer."""
        changed, seen = False, Seen(more=True)
        while seen.more:
            seen = await self.followed.look()
            changed |= seen.changed
        return changed

    def write(self, lines: Sequence[JsonObject]) -> None:
        self.path.write_bytes(to_bytes(list(lines)))

    def add(self, data: bytes) -> None:
        with self.path.open("ab") as file:
            file.write(data)

    @property
    def texts(self) -> list[str]:
        assert self.followed.conversation is not None
        return [message.text for message in self.followed.conversation.transcript.view]

    @property
    def sessions(self) -> int:
        return len(self.workspace.ports.store.list())

    def said(self) -> list[str]:
        """Returns the ids of all messages of the session, in order."""
        assert self.followed.conversation is not None
        records = self.workspace.ports.store.read(self.followed.conversation.id)
        return [record.event.message.id for record in records if isinstance(record.event, MessageAppended)]
