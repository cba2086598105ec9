"""An imported conversation at the real server's door: its figures, and that no setting makes the server edit it."""

from pathlib import Path

from support.claude_log import ClaudeLog
from support.program import language_server


def long_log() -> ClaudeLog:
    """Returns a log at 83 % of its agent's window, with 130,000 tokens of text."""
    log = ClaudeLog()
    for step in range(1, 9):
        text = f"Question {step}. " + "Please look at the parser once more. " * 1_600
        log.ask(text).answer(30_000 + 17_000 * step, 500)
    return log


async def test_no_setting_makes_the_server_edit_an_imported_copy(tmp_path: Path) -> None:
    path = tmp_path / "claude.jsonl"
    path.write_bytes(long_log().data)
    async with language_server(tmp_path / "s.db") as client:
        imported = await client.request("ullage/session/import", {"path": str(path)})
        session = {"sessionId": imported["session"]["sessionId"]}
        meta = imported["session"]["usage"]["_meta"]["ullage"]
        assert (meta["managedBy"], meta["window"]["size"], meta["threshold"]["tokens"]) == ("agent", 200_000, 167_000)
        smaller = {"models": {"claude-opus-4-6": {"window": 100_000}}, "context": {"compactAt": 0.3, "warnAt": 0.2}}
        await client.notify("workspace/didChangeConfiguration", {"settings": {"ullage": smaller}})
        changed = await client.request("ullage/context/get", session)
        assert (changed["size"], changed["used"]) == (100_000, 166_500)
        # A request that waits until no automatic compaction runs.
        await client.request("ullage/context/messages", session)
        after = await client.request("ullage/context/get", session)
        assert (after["used"], after["_meta"]["ullage"]["messagesActive"]) == (166_500, 16)
        assert (await client.request("ullage/context/history", session))["edits"] == []
        assert await client.shutdown() == 0
