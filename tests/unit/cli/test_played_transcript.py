"""The conversation that a demo plays, and its window."""

from pathlib import Path

import msgspec

from ullage.cli.commands.demo import SAMPLE_WINDOW, ConversationOptions, load_conversation


def write_talk(folder: Path, words: int) -> Path:
    path = folder / "talk.json"
    talk = [{"role": "user" if n % 2 == 0 else "assistant", "content": f"{n} " + "word " * words} for n in range(20)]
    path.write_bytes(msgspec.json.encode({"model": "gpt-4o", "messages": talk}))
    return path


def test_sample_is_longer_than_its_window() -> None:
    conversation = load_conversation(ConversationOptions())
    assert conversation.window == SAMPLE_WINDOW
    assert len(conversation.steps) > 100
    assert conversation.tools


def test_small_conversation_gets_a_window_it_fills(tmp_path: Path) -> None:
    conversation = load_conversation(ConversationOptions(file=write_talk(tmp_path, 1_000)))
    assert 15_000 < conversation.window < 20_000


def test_tiny_conversation_still_gets_room_to_work_in(tmp_path: Path) -> None:
    assert load_conversation(ConversationOptions(file=write_talk(tmp_path, 10))).window == 8_000


def test_window_asked_for_wins(tmp_path: Path) -> None:
    assert load_conversation(ConversationOptions(file=write_talk(tmp_path, 10), window=50_000)).window == 50_000
