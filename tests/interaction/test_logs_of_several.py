"""Logs that hold several conversations one after the other: each is a session of its own, also while the log grows."""

from pathlib import Path
from typing import Any

from support.codex_files import logged
from support.followed_rig import IN_PIECES, Rig
from support.log_trees import to_bytes
from ullage.system.growing_files import GrowingFiles


def codex_talk(name: str, turns: int) -> list[dict[str, Any]]:
    """Returns the lines of a conversation in Codex's terminal log, whose last prompt had 100 tokens per turn."""
    lines = [logged("session_configured", model="gpt-5-codex", session_id=name)]
    for turn in range(1, turns + 1):
        lines += [
            logged("user_message", message=f"{name} {turn}?"),
            logged("task_started", model_context_window=100_000),
            logged("agent_message", message=f"{name} {turn}."),
            logged("token_count", input_tokens=100 * turn, output_tokens=1),
        ]
    return lines


async def test_a_new_conversation_in_a_terminal_log_is_not_added_to_the_one_before(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    rig.write(codex_talk("one", 2))
    await rig.read()
    one = rig.followed.conversation
    for turn in range(1, 4):
        rig.write(codex_talk("one", 2) + codex_talk("two", turn))
        await rig.read()
    # The longest is followed: at last, the second.
    assert rig.texts == ["two 1?", "two 1.", "two 2?", "two 2.", "two 3?", "two 3."]
    assert rig.followed.conversation is not None and one is not None
    assert rig.followed.conversation.used == 301
    assert [message.text for message in one.transcript.view] == ["one 1?", "one 1.", "one 2?", "one 2."]
    assert one.used == 201
    assert rig.sessions == 2


async def test_a_large_terminal_log_of_several_conversations_has_one_session_of_the_longest(tmp_path: Path) -> None:
    rig = Rig(tmp_path, files=IN_PIECES)
    rig.write(codex_talk("one", 9) + codex_talk("two", 20) + codex_talk("three", 3))
    assert not (await rig.followed.look()).more
    assert rig.texts[0] == "two 1?"
    assert len(rig.texts) == 40
    assert rig.followed.conversation is not None
    assert rig.followed.conversation.used == 2_001
    assert rig.sessions == 1


async def test_the_end_of_a_log_of_several_conversations_says_no_figures_ahead(tmp_path: Path) -> None:
    rig = Rig(tmp_path, files=GrowingFiles(2_000))
    rig.write(codex_talk("one", 40) + codex_talk("two", 10))
    assert rig.files.read_ends(rig.path, 2_000) is not None
    assert await rig.followed.look_ahead() is None


async def test_a_restart_of_aider_begins_a_session_of_its_own(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    rig.path = rig.path.with_name(".aider.chat.history.md")
    rig.restart()
    rig.add(b"\n# aider chat started at 2026-09-21 10:00:00\n\n#### one?  \n\nOne.\n\n> Tokens: 9 sent, 1 received.\n")
    await rig.followed.read_all()
    one = rig.followed.conversation
    rig.add(b"\n# aider chat started at 2026-09-22 11:00:00\n\n#### two?  \n\nTwo.\n\n> Tokens: 9 sent, 1 received.\n")
    await rig.followed.read_all()
    assert rig.texts == ["two?", "Two."]
    assert one is not None
    assert [message.text for message in one.transcript.view] == ["one?", "One."]
    assert rig.sessions == 2


async def test_a_conversation_alone_in_a_terminal_log_is_read_line_by_line(tmp_path: Path) -> None:
    rig, lines = Rig(tmp_path), codex_talk("one", 3)
    rig.write(lines[:5])
    await rig.read()
    one = rig.followed.conversation
    rig.add(to_bytes(lines[5:]))
    await rig.read()
    assert rig.texts == ["one 1?", "one 1.", "one 2?", "one 2.", "one 3?", "one 3."]
    assert rig.followed.conversation is one
