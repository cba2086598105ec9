"""What Ullage changes for the agents of the examples' user, and the messages about it: their settings, new sessions of
theirs, and what their hooks gave back."""

from collections.abc import Sequence

from msgspec.structs import replace

from support.coding_session import first_turn, thinking_turn
from support.example_following import FOLLOWED
from support.example_messages import Examples
from support.example_settings import PROJECT
from support.workspace import LARGE_MODEL, START, TestClient
from ullage.model.events import ConversationImported
from ullage.service.ports.agent_files import GivenBack
from ullage.service.ports.models import (
    AgentChoice,
    ContinuingChoicesResult,
    ContinuingPreviewParams,
    ContinuingResult,
)
from ullage.wire.plan import AgentChange, FileChange, OptionState

_AGENT, _WORD = FOLLOWED[0].agent, "claude-code"
_SETTINGS = "/home/ada/.claude/settings.json"
_BEFORE = b'{\n  "model": "opus"\n}\n'
_AFTER = b"""{
  "model": "opus",
  "hooks": {
    "SessionStart": [
      {
        "matcher": "compact|resume",
        "hooks": [
          {
            "type": "command",
            "command": "/usr/bin/ullage hook claude-code 2>/dev/null ||:",
            "timeout": 5
          }
        ]
      }
    ]
  }
}
"""
_NEW = "7b1f0c52-93aa-4c1e-8d20-5e6f7a8b9c0d"
_BRIEF = (
    "What the summary of the compaction leaves out, quoted from the conversation:\n\n"
    'Said by the user:\n- #3 "Never round before the offset is added."\n'
)


class KnownWiring:
    """One agent with settings of its own, in memory."""

    def __init__(self) -> None:
        self.settings = _BEFORE

    def add(self, words: Sequence[str], *, status_line: bool | None, fill_notes: bool | None) -> Sequence[AgentChange]:
        """Returns what adds a hook to the agent's settings. The status line is left alone."""
        options = (
            OptionState(name="statusLine", is_on=bool(status_line)),
            OptionState(name="fillNotes", is_on=bool(fill_notes)),
        )
        change = self._change(_AFTER, "It takes effect in its next session, or at once.")
        return [replace(change, options=options)]

    def take_out(self, words: Sequence[str]) -> Sequence[AgentChange]:
        """Returns what takes the hook out."""
        return [self._change(_BEFORE, "The file is as it was before.")]

    def make(self, change: AgentChange) -> None:
        """Makes the change."""
        for file in change.files:
            self.settings = file.after or b""

    def _change(self, after: bytes, note: str) -> AgentChange:
        file = FileChange(path=_SETTINGS, before=self.settings, after=after)
        files = (file,) if file.before != file.after else ()
        is_wired = self.settings == _AFTER
        return AgentChange(agent=_AGENT, word=_WORD, path=_SETTINGS, files=files, is_wired=is_wired, notes=(note,))


class KnownContinuing:
    """One new session, whatever is wanted."""

    async def choices(self, session_id: str) -> ContinuingChoicesResult:
        """Returns two agents."""
        own, other = (
            AgentChoice(agent=agent, word=word, own=word == _WORD)
            for agent, word in ((_AGENT, _WORD), ("Codex", "codex"))
        )
        return ContinuingChoicesResult(agents=(own, other), before_compaction=True)

    async def plan(self, wanted: ContinuingPreviewParams) -> ContinuingResult:
        """Returns the new session."""
        path = f"/home/ada/.claude/projects/-home-ada-weather/{_NEW}.jsonl"
        command = ("claude", "--resume", _NEW)
        return ContinuingResult(
            written=False,
            preview_id="continued_1",
            agent=_AGENT,
            agent_session_id=_NEW,
            path=path,
            cwd=PROJECT,
            command=command,
            shell=f"cd {PROJECT} && {' '.join(command)}",
            messages=14,
            left_out=44,
            used=31_240,
            hidden=14_120,
            before=92_160,
            size=200_000,
            compacts_at=167_000,
            fits=True,
            notes=(),
        )

    async def write(self, preview_id: str) -> ContinuingResult:
        """Returns the new session."""
        return replace(await self.plan(ContinuingPreviewParams(session_id="")), preview_id=preview_id, written=True)


def _given(agent_session_id: str) -> Sequence[GivenBack]:
    counts = {"said": 1}
    return [
        GivenBack(at=START + 3_600_000, why="compact", counts=counts, characters=len(_BRIEF), tokens=31, text=_BRIEF)
    ]


async def change_agents(examples: Examples, client: TestClient, session_id: str) -> None:
    """Adds Ullage to an agent and takes it out again, continues a conversation in a new session, and lists what a hook
    gave back."""
    client.workspace.wiring, client.workspace.continuing = KnownWiring(), KnownContinuing()
    preview = await examples.call(client, "agents/wire", "preview", agent=_WORD, fillNotes=True, dryRun=True)
    await examples.call(client, "agents/wire", agent=_WORD, fillNotes=True, previewId=preview["previewId"])
    await examples.call(client, "agents/unwire")
    await examples.call(client, "continuing/choices", sessionId=session_id)
    planned = await examples.call(client, "continuing/preview", sessionId=session_id)
    await examples.call(client, "continuing/write", previewId=planned["previewId"])
    await _receipts(examples, client)


async def _receipts(examples: Examples, client: TestClient) -> None:
    new = await client.call("session/new", cwd=PROJECT, model=LARGE_MODEL)
    messages = [*first_turn(), *thinking_turn(1)]
    await client.call("session/append", sessionId=new["sessionId"], messages=messages)
    await client.call("context/compact", sessionId=new["sessionId"])
    imported = ConversationImported(format=_WORD, agent=_AGENT, origin_id=FOLLOWED[0].agent_session_id)
    client.workspace.open(new["sessionId"]).record(imported)
    client.workspace.receipts = _given
    await examples.call(client, "context/givenBack", sessionId=new["sessionId"])
