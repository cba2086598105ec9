"""The tokens that a message has besides its text, and the blocks they come from."""

import base64
import struct
from base64 import b64encode
from typing import Any

import pytest

from support.pdf import small_pdf
from ullage.model.message import (
    ArtifactLedger,
    Block,
    CompactionBlock,
    FileAction,
    FileArtifact,
    ImageBlock,
    Message,
    ResourceBlock,
    Role,
    TextBlock,
    ThinkingBlock,
    ToolDefinition,
    ToolResultBlock,
    ToolUseBlock,
    render_marker,
)
from ullage.model.usage import Breakdown
from ullage.tokens.counter import ApproximateCounter, TiktokenCounter, get_counter, render_json, render_typescript
from ullage.tokens.families import ImageRule, TextKind, family_of, kind_of
from ullage.tokens.images import count_image, count_page, count_pages, size_of

GPT = TiktokenCounter(family_of("gpt-4o"))
CLAUDE = TiktokenCounter(family_of("claude-sonnet-4-5"))
TEXT = "The quick brown fox jumps over the lazy dog."
MARKER = CompactionBlock(
    compaction_number=1,
    timestamp=0,
    summary=TEXT,
    messages_archived=3,
    context_size_before=9,
    ledger=ArtifactLedger(files=(FileArtifact(path="a.py", action=FileAction.READ),)),
)


def message(*blocks: Block, role: Role = Role.USER) -> Message:
    return Message(id="m", role=role, content=blocks)


def test_an_openai_message_costs_its_text_three_tokens_and_its_role() -> None:
    assert GPT.count_message(message(TextBlock(text=TEXT))) == GPT.count(TEXT) + 4


def test_a_system_message_counts_as_system_prompt() -> None:
    parts = GPT.break_down(message(TextBlock(text=TEXT), role=Role.SYSTEM))
    assert parts == Breakdown(system_prompt=GPT.count(TEXT) + 4)


def test_tool_results_are_distinguished_from_the_text_next_to_them() -> None:
    result = ToolResultBlock(tool_use_id="t", content=(TextBlock(text=TEXT),))
    parts = GPT.break_down(message(result, TextBlock(text="go on")))
    assert parts == Breakdown(messages=GPT.count("go on") + 4, tool_results=GPT.count(TEXT) + 4)


def test_a_message_of_tool_results_alone_has_no_frame_of_its_own() -> None:
    result = ToolResultBlock(tool_use_id="t", content=(TextBlock(text=TEXT),))
    assert GPT.break_down(message(result, result)).messages == 0


def test_a_tool_call_counts_its_name_and_its_input() -> None:
    call = ToolUseBlock(id="t", name="read_file", input={"path": "a.py"})
    expected = GPT.count("read_file") + GPT.count('{"path":"a.py"}') + 3
    assert GPT.count_message(message(call, role=Role.ASSISTANT)) == expected + 4


def test_claude_sees_a_multiline_input_unescaped() -> None:
    text = 'line "one"\n' * 200
    call = message(ToolUseBlock(id="t", name="write", input={"text": text}), role=Role.ASSISTANT)
    assert CLAUDE.count_message(call) < CLAUDE.count(text) * 1.1
    assert GPT.count_message(call) > GPT.count(text) * 1.2


def test_what_the_memory_tool_returned_counts_as_memory() -> None:
    notes = message(ToolResultBlock(tool_use_id="t1", content=(TextBlock(text=TEXT),)))
    parts = GPT.break_down(notes, {"t1"})
    assert (parts.memory, parts.tool_results) == (GPT.count_message(notes), 0)
    assert GPT.break_down(notes, {"t2"}).memory == 0


@pytest.mark.parametrize(
    "uri", ["file:///p/CLAUDE.md", "file:///p/AGENTS.md", "MEMORY.md", "/memories/notes.txt", "/p/CLAUDE.local.md"]
)
def test_instruction_and_memory_files_count_as_memory(uri: str) -> None:
    parts = GPT.break_down(message(ResourceBlock(uri=uri, text=TEXT)))
    assert parts.memory == GPT.count(uri) + GPT.count(TEXT)


@pytest.mark.parametrize("uri", ["file:///p/main.py", "file:///p/NOTCLAUDE.md", "/p/memoriesx/a"])
def test_other_resources_count_as_messages(uri: str) -> None:
    assert GPT.break_down(message(ResourceBlock(uri=uri, text=TEXT))).memory == 0


def test_a_marker_counts_as_the_text_the_model_is_sent() -> None:
    parts = GPT.break_down(message(MARKER))
    assert parts.summary == GPT.count(render_marker(MARKER))


def test_thinking_counts_its_text_and_encrypted_reasoning_by_its_length() -> None:
    shown = GPT.count_message(message(ThinkingBlock(thinking=TEXT), role=Role.ASSISTANT))
    hidden = GPT.count_message(message(ThinkingBlock(thinking="", redacted="x" * 600), role=Role.ASSISTANT))
    assert (shown, hidden) == (GPT.count(TEXT) + 4, 104)


@pytest.mark.parametrize("counter", [GPT, CLAUDE, ApproximateCounter()], ids=lambda counter: counter.name)
def test_count_of_a_message_is_the_sum_of_its_parts(counter: TiktokenCounter | ApproximateCounter) -> None:
    image = ImageBlock(width=100, height=100)
    everything = message(
        TextBlock(text=TEXT),
        image,
        ToolResultBlock(tool_use_id="t", content=(TextBlock(text=TEXT), image, ResourceBlock(uri="a", text=TEXT))),
        ResourceBlock(uri="/memories/a", text=TEXT),
        MARKER,
    )
    parts = counter.break_down(everything)
    assert parts.total == counter.count_message(everything) == counter.count_messages([everything])
    assert min(parts.messages, parts.tool_results, parts.memory, parts.summary) > 0


def test_an_empty_message_still_has_its_frame() -> None:
    assert GPT.count_message(message()) == 4


def test_lone_surrogates_in_a_tool_call_are_counted() -> None:
    call = ToolUseBlock(id="t", name="write", input={"text": "\ud800"})
    assert GPT.count_message(message(call)) > 4


# A PDF counts by its pages, of which a model is shown text and a picture


def encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("pages", [1, 7, 250])
def test_the_pages_of_a_pdf_are_found_also_in_compressed_streams(pages: int, compressed: bool) -> None:
    assert count_pages(encoded(small_pdf(pages, compressed=compressed))) == pages


@pytest.mark.parametrize(("size", "pages"), [(0, 1), (99_000, 1), (1_000_000, 10)])
def test_a_document_whose_pages_cannot_be_found_counts_by_its_size(size: int, pages: int) -> None:
    assert count_pages(encoded(b"%PDF-1.7" * (size // 8))) == pages


@pytest.mark.parametrize("data", ["", "no base64!", "A"])
def test_broken_data_counts_as_a_page(data: str) -> None:
    assert count_pages(data) == 1


def test_a_page_counts_what_the_providers_say() -> None:
    # Anthropic: "1,500-3,000 tokens per page"; Google: 258, and 560 with Gemini 3.
    assert all(1_500 <= count_page(rule) <= 3_000 for rule in (ImageRule.CLAUDE, ImageRule.CLAUDE_LARGE))
    assert (count_page(ImageRule.GEMINI_TILES), count_page(ImageRule.GEMINI)) == (258, 560)


@pytest.mark.parametrize(
    ("model", "rule"),
    [
        ("claude-sonnet-4-5", ImageRule.CLAUDE),
        ("gpt-5.2", ImageRule.OPENAI_PATCHES),
        ("gemini-3-pro", ImageRule.GEMINI),
    ],
)
def test_a_document_counts_by_its_pages_and_another_blob_as_its_title(model: str, rule: ImageRule) -> None:
    def count(kind: str, data: bytes) -> int:
        block = ResourceBlock(uri="file:///a", mime_type=kind, data=encoded(data))
        return get_counter(model).count_message(Message(id="m", role=Role.USER, content=(block,)))

    one, ten = (count("application/pdf", small_pdf(pages)) for pages in (1, 10))
    assert ten - one == 9 * count_page(rule)
    assert count("application/zip", bytes(100_000)) < 40


# Tokens of images. Expected figures are the providers' own examples if they give some


@pytest.mark.parametrize(
    ("rule", "width", "height", "tokens"),
    [
        (ImageRule.OPENAI_TILES, 1024, 1024, 765),
        (ImageRule.OPENAI_TILES, 2048, 4096, 1105),
        (ImageRule.OPENAI_TILES_MINI, 512, 512, 8_500),
        (ImageRule.OPENAI_TILES_GPT5, 1024, 1024, 630),
        (ImageRule.OPENAI_TILES_O, 512, 512, 225),
        (ImageRule.OPENAI_PATCHES, 1024, 1024, 1_229),
        (ImageRule.OPENAI_PATCHES, 1920, 1080, 2_448),
        (ImageRule.OPENAI_PATCHES, 8000, 8000, 3_000),
        (ImageRule.OPENAI_PATCHES_MINI, 1024, 1024, 1_659),
        (ImageRule.CLAUDE, 512, 512, 361),
        (ImageRule.CLAUDE, 1024, 1024, 1_369),
        (ImageRule.CLAUDE, 4000, 4000, 1_568),
        (ImageRule.CLAUDE_LARGE, 4000, 4000, 4_784),
        (ImageRule.GEMINI, 1024, 1024, 1_100),
        (ImageRule.GEMINI_TILES, 384, 384, 258),
        (ImageRule.GEMINI_TILES, 1024, 768, 516),
    ],
)
def test_picture_counts(rule: ImageRule, width: int, height: int, tokens: int) -> None:
    assert count_image(ImageBlock(width=width, height=height), rule) == tokens


def test_every_rule_counts_a_picture_of_unknown_size() -> None:
    assert all(count_image(ImageBlock(url="https://example.org/a.png"), rule) > 0 for rule in ImageRule)


@pytest.mark.parametrize(
    "head",
    [
        b"\x89PNG\r\n\x1a\n" + b"\0\0\0\rIHDR" + struct.pack(">II", 640, 480),
        b"GIF89a" + struct.pack("<HH", 640, 480),
        b"\xff\xd8\xff\xe0\x00\x04ab\xff\xc0\x00\x11\x08" + struct.pack(">HH", 480, 640),
        b"RIFF\0\0\0\0WEBPVP8X" + b"\0" * 8 + (639).to_bytes(3, "little") + (479).to_bytes(3, "little"),
        b"RIFF\0\0\0\0WEBPVP8L" + b"\0" * 5 + (639 | 479 << 14).to_bytes(4, "little"),
        b"RIFF\0\0\0\0WEBPVP8 " + b"\0" * 10 + struct.pack("<HH", 640, 480),
    ],
    ids=["png", "gif", "jpeg", "webp extended", "webp lossless", "webp"],
)
def test_size_is_read_from_the_head_of_the_data(head: bytes) -> None:
    assert size_of(ImageBlock(data=b64encode(head).decode())) == (640, 480)


@pytest.mark.parametrize(
    ("head", "size"),
    [
        (b"GIF89a" + struct.pack("<HH", 40_000, 480), (40_000, 480)),
        (b"RIFF\0\0\0\0WEBPVP8 " + b"\0" * 10 + struct.pack("<HH", 640 | 1 << 14, 480 | 1 << 14), (640, 480)),
    ],
    ids=["wide gif", "webp with scaling bits"],
)
def test_a_size_is_read_from_all_its_bits_and_no_others(head: bytes, size: tuple[int, int]) -> None:
    assert size_of(ImageBlock(data=b64encode(head).decode())) == size


@pytest.mark.parametrize("data", ["", "not base64!", "AAAA", b64encode(b"\x89PNG\r\n\x1a\n").decode(), "é"])
def test_unreadable_data_has_no_size(data: str) -> None:
    assert size_of(ImageBlock(data=data)) is None


# The tokens of tool definitions as models see them


SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["path"],
    "properties": {
        "path": {"type": "string", "description": "Where."},
        "mode": {"enum": ["r", "w"]},
        "lines": {"type": "array", "items": {"type": "integer"}},
        "options": {"type": "object", "properties": {"deep": {"type": ["boolean", "null"]}}},
        "either": {"anyOf": [{"type": "string"}, {"type": "number"}]},
    },
}
READ = ToolDefinition(name="read", description="Reads a file.", input_schema=SCHEMA)


def test_openai_models_see_a_typescript_namespace() -> None:
    assert render_typescript([READ, ToolDefinition(name="stop")]) == (
        "namespace functions {\n\n"
        "// Reads a file.\n"
        "type read = (_: {\n"
        "// Where.\npath: string,\n"
        'mode?: "r" | "w",\n'
        "lines?: number[],\n"
        "options?: {\ndeep?: boolean | null,\n},\n"
        "either?: string | number,\n"
        "}) => any;\n\n"
        "type stop = () => any;\n\n"
        "} // namespace functions"
    )


def test_no_tools_cost_nothing() -> None:
    assert TiktokenCounter(family_of("claude-sonnet-4-5")).count_tools([]) == 0


def test_openai_tools_cost_their_rendering_and_nine() -> None:
    counter = TiktokenCounter(family_of("gpt-4o"))
    assert counter.count_tools([READ]) == counter.count(render_typescript([READ])) + 9


def test_claude_tools_cost_their_json_and_the_hidden_tool_prompt() -> None:
    counter = TiktokenCounter(family_of("claude-sonnet-4-5"))
    assert counter.count_tools([READ]) == counter.count(render_json([READ])) + 346


@pytest.mark.parametrize(
    "schema", [{}, {"properties": []}, {"properties": {"a": 1}}, {"properties": {"a": {"type": 3}}}]
)
def test_a_schema_of_any_shape_is_counted(schema: dict[str, Any]) -> None:
    counter = TiktokenCounter(family_of("gpt-4o"))
    assert counter.count_tools([ToolDefinition(name="x", input_schema=schema)]) > 9


# Kinds of text, for which tokenizers differ


DOTS = "\x1b[32m.\x1b[0m" * 60 + "\x1b[32m [ 16%]\n\x1b[0m"
WARNINGS = "\x1b[0m\x1b[1m\x1b[33mwarning\x1b[0m\x1b[0m\x1b[1m: unused variable: `row`\x1b[0m\n" * 20


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("", TextKind.PROSE),
        ("The pilot boards off the bell, and no sooner than the ebb has begun to run.", TextKind.PROSE),
        ("def area(self) -> float:\n    return self.width * self.height\n", TextKind.CODE),
        ('{"id": 4711, "at": "2026-11-22T01:02:03Z", "used": 93210}\n' * 5, TextKind.OUTPUT),
        ("-rw-r--r--  1 root root  4096 Jan  1 00:00 setup-all.cfg\n" * 5, TextKind.LISTING),
        ("引き潮が始まるまで水先人は乗りません。", TextKind.CJK),
        (DOTS, TextKind.COLOURED),
        (WARNINGS, TextKind.COLOURED),
        # A single coloured word does not make a log coloured output.
        ("\x1b[31merror\x1b[0m" + " the file is missing" * 20, TextKind.PROSE),
    ],
)
def test_a_text_has_a_kind(text: str, kind: TextKind) -> None:
    assert kind_of(text.encode()) is kind


def test_escape_codes_cost_gemini_no_more_than_openai() -> None:
    # Gemma's vocabulary, which is public: 0.89 tokens for a coloured dot's token of o200k, 0.90 for a compiler's line.
    exact = get_counter("gpt-4o")
    for text in (DOTS, WARNINGS):
        assert get_counter("gemini-2.5-pro").count(text) == pytest.approx(0.98 * exact.count(text), abs=1)
