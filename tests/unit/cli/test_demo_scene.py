"""What the demo draws for messages and updates."""

from pathlib import Path

import msgspec
from msgspec.structs import replace

from support.usages import make_usage
from ullage.cli.commands.demo import SAMPLE_WINDOW, ConversationOptions, Scene, draw_screen, load_conversation
from ullage.cli.drawing import ASCII, UNICODE
from ullage.model.message import Message, Role, TextBlock, ToolResultBlock, ToolUseBlock
from ullage.model.updates import (
    CompactionMeta,
    CompactionStatus,
    CompactionSummaryChunk,
    CompactionUpdate,
    Meta,
    Notice,
    Severity,
    TextContent,
    UsageUpdate,
)


def make_scene() -> Scene:
    scene = Scene("Fix the login", "gpt-4o", UNICODE)
    usage = make_usage()
    scene.told(UsageUpdate(used=usage.used, size=usage.size or 0, meta=usage.meta))
    return scene


def run_compaction(scene: Scene, end: CompactionStatus) -> None:
    meta = CompactionMeta(trigger="automatic", compaction_number=1, messages_archived=9)
    scene.told(CompactionUpdate(compaction_id="e1", status=CompactionStatus.IN_PROGRESS, meta=Meta(ullage=meta)))
    scene.told(CompactionSummaryChunk(compaction_id="e1", content=TextContent(text="## Task\nFix it\n" * 6)))
    done = replace(meta, edit_id="e1", context_size_before=58_432, context_size_after=9_100)
    scene.told(CompactionUpdate(compaction_id="e1", status=end, meta=Meta(ullage=done)))


def texts(scene: Scene) -> list[str]:
    return [line.text for line in scene.feed]


def test_prompt_answer_call_and_failure_each_get_a_line() -> None:
    scene = make_scene()
    call = ToolUseBlock(id="c", name="run", input={"flag": True, "command": "pytest -q"})
    failed = ToolResultBlock(tool_use_id="c", content=(TextBlock(text="...\n1 failed\n"),), is_error=True)
    scene.say(Message(id="1", role=Role.USER, content=(TextBlock(text="\nPlease fix it\nsoon"),)))
    scene.say(Message(id="2", role=Role.ASSISTANT, content=(TextBlock(text="I look."), call)))
    scene.say(Message(id="3", role=Role.USER, content=(failed,)))
    assert texts(scene) == ["› Please fix it", "  I look.", "  ⚒ run pytest -q", "    failed: 1 failed"]


def test_summary_streams_into_the_screen_and_ends_as_a_marker() -> None:
    scene = make_scene()
    run_compaction(scene, CompactionStatus.COMPLETED)
    assert texts(scene)[0] == "◈ Compacted #1 · 9 messages · 58K → 9.1K · automatic"
    assert texts(scene)[-1] == "    and 6 more lines"
    assert scene.status == "✓ 58K → 9.1K"
    assert scene.edit_id == "e1"


def test_cancelled_compaction_leaves_no_marker() -> None:
    scene = make_scene()
    run_compaction(scene, CompactionStatus.CANCELLED)
    assert texts(scene) == []
    assert scene.edit_id is None


def test_notice_is_drawn_under_the_feed() -> None:
    scene = make_scene()
    scene.told(Notice(severity=Severity.WARNING, title="Context 82% full"))
    assert any("▲ Context 82% full" in line.plain for line in draw_screen(scene, 80, 20))


def test_screen_keeps_its_size_whatever_it_shows() -> None:
    for glyphs in (UNICODE, ASCII):
        scene = make_scene()
        scene.glyphs = glyphs
        scene.writing = ["line 日本語 " * 30] * 40
        for number in range(50):
            scene.remark(f"command {number} " * number)
        drawn = draw_screen(scene, 72, 24)
        assert len(drawn) == 24
        assert {line.cell_len for line in drawn} == {72}


# The conversation that a demo plays, and its window


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
