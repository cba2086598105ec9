"""The end of a file shows the usage that a reading of all of the file shows last, or says that it does not."""

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from support.claude_log import ClaudeLog
from support.codex_files import call, counted, output, said, session
from support.foreign import to_lines
from support.transcripts import ROOT
from ullage.agents.agent import Agent
from ullage.agents.claude_code import AGENT as CLAUDE_CODE
from ullage.agents.codex import AGENT as CODEX_AGENT
from ullage.agents.codex.rollout import FORMAT as CODEX
from ullage.agents.pi import AGENT as PI
from ullage.formats.parsing import Document, parse_document
from ullage.formats.transcripts.builder import ImportedTranscript
from ullage.formats.transcripts.format import Format, from_last_answer
from ullage.model.errors import UnreadableTranscript
from ullage.model.events import ConversationImported, Event, MessageAppended, UsageReported
from ullage.model.message import Block, ToolResultBlock
from ullage.service.follow.rows import ends_with_edit
from ullage.service.sessions import last_model
from ullage.watch.file_parts import file_ends

pytestmark = pytest.mark.no_cover

# Agents whose files' ends are read without a reading of their lines, with recorded conversations of each. Those of one
# collection have lines in another order than that of their times, which their ends do not show before they are whole.
RECORDED = [
    (CLAUDE_CODE, ["live/claude_code/*.jsonl", "claude_code_[ev]*/*.jsonl", "claude_code_spotter/*.jsonl"]),
    (CODEX_AGENT, ["live/codex/*.jsonl", "codex_rollout/*.jsonl"]),
    (PI, ["live/pi*/*.jsonl", "pi/*.jsonl"]),
]
# Bytes of a file that is cut after each of its lines. Larger ones are cut in some places.
SMALL, CUTS = 12_000, 2


def at_end(agent: Agent, path: Path, data: bytes) -> ImportedTranscript | None:
    path.write_bytes(data)
    assert agent.sessions is not None
    titled = agent.sessions.title_of
    with file_ends(str(path), len(data), lambda line: titled([line.value]) if line.value else "") as ends:
        known = agent.formats[-1].at_end
        return known(ends) if known and ends else None


def facts(read: ImportedTranscript) -> tuple[object, ...]:
    """Returns what an end says of the whole: all but the number of the characters that follow the last usage."""
    places = [place for place, event in enumerate(read.events) if isinstance(event, UsageReported)]
    last = places[-1] if places else 0
    is_followed = any(map(counts, read.events[last + 1 :]))
    started = [event.started_by for event in read.events if isinstance(event, ConversationImported)][-1:]
    names = read.agent, read.version, read.session_id, read.parent, read.cwd, read.is_sub_agent, started
    return read.events[last] if places else None, is_followed, last_model(read), ends_with_edit(read), names


def counts(event: Event) -> bool:
    return isinstance(event, MessageAppended)


def said_last(read: ImportedTranscript) -> tuple[Block, ...]:
    return [event.message.content for event in read.events if isinstance(event, MessageAppended)][-1]


@pytest.mark.parametrize(("agent", "patterns"), RECORDED)
def test_wherever_a_file_ends_its_end_says_what_the_whole_says_or_nothing(
    tmp_path: Path, agent: Agent, patterns: list[str]
) -> None:
    files = sorted(path for pattern in patterns for path in ROOT.glob(pattern))
    if not files:
        pytest.skip("the recorded transcripts are not on this machine (set ULLAGE_TRANSCRIPTS)")
    told = cut = 0
    for file in files:
        lines = file.read_bytes().splitlines(keepends=True)
        step = 1 if file.stat().st_size < SMALL else max(1, len(lines) // CUTS)
        for number in range(len(lines), 0, -step):
            data, cut = b"".join(lines[:number]), cut + 1
            if (quick := at_end(agent, tmp_path / "cut.jsonl", data)) is not None:
                whole = agent.formats[-1].read(parse_document(data, "cut.jsonl"))
                assert without_ids(facts(quick)) == without_ids(facts(whole)), (file.name, number)
                told += 1
    # Most cuts are in the middle of a turn.
    assert told > cut / 20


def test_results_between_the_lines_of_an_answer_count_after_its_usage(tmp_path: Path) -> None:
    data = ClaudeLog().ask("Look.").read("a.py", "a").answer(9_000).data
    prompt, called, result, answered = data.splitlines(keepends=True)
    # The call is now a line of the answer that comes after its result.
    call = json.loads(called)
    call["message"]["id"] = json.loads(answered)["message"]["id"]
    between = prompt + to_lines(call) + result + answered
    read = at_end(CLAUDE_CODE, tmp_path / "a.jsonl", between)
    whole = CLAUDE_CODE.formats[-1].read(parse_document(between, "a.jsonl"))
    assert read is not None and without_ids(facts(read)) == without_ids(facts(whole))
    assert said_last(read) == said_last(whole) and isinstance(said_last(read)[0], ToolResultBlock)


def test_the_end_says_how_the_agent_was_started(tmp_path: Path) -> None:
    lines = ClaudeLog().ask("Look.").answer(9_000).data.splitlines()
    data = to_lines(*({**json.loads(one), "entrypoint": "sdk-cli"} for one in lines))
    read = at_end(CLAUDE_CODE, tmp_path / "a.jsonl", data)
    whole = CLAUDE_CODE.formats[-1].read(parse_document(data, "a.jsonl"))
    assert read is not None and without_ids(facts(read)) == without_ids(facts(whole))
    assert [event.started_by for event in read.events if isinstance(event, ConversationImported)] == ["sdk-cli"]


def test_the_output_of_a_local_command_after_an_answer_counts_unless_it_is_the_context_that_was_drawn(
    tmp_path: Path,
) -> None:
    log = ClaudeLog().ask("Look.").answer(9_000)
    last = json.loads(log.data.splitlines()[-1])["uuid"]
    drawn = "<local-command-stdout>\x1b[1mContext usage</local-command-stdout>"
    for shown, is_sent in (("<local-command-stdout>Set.</local-command-stdout>", True), ("", False), (drawn, False)):
        command = {"type": "system", "subtype": "local_command", "uuid": "x", "parentUuid": last, "content": shown}
        read = at_end(CLAUDE_CODE, tmp_path / "a.jsonl", log.data + to_lines(command))
        assert (read is not None) == is_sent
        if read is not None:
            whole = CLAUDE_CODE.formats[-1].read(parse_document(log.data + to_lines(command), "a.jsonl"))
            assert said_last(read) == said_last(whole) and without_ids(facts(read)) == without_ids(facts(whole))


@pytest.mark.parametrize(
    "last",
    [
        {"type": "user", "uuid": "x", "parentUuid": "elsewhere", "message": {"role": "user", "content": "Again."}},
        {"type": "system", "subtype": "compact_boundary", "uuid": "x", "parentUuid": None},
        {"type": "queue-operation", "operation": "remove", "content": "Now."},
        {"type": "assistant", "uuid": "x", "message": {"id": "e", "model": "<synthetic>", "content": []}},
        {"type": "assistant", "uuid": "x", "message": {"id": 7, "usage": []}},
    ],
)
def test_an_end_that_may_mean_another_figure_says_nothing(tmp_path: Path, last: dict[str, Any]) -> None:
    data = ClaudeLog().ask("Look.").answer(9_000).data
    assert at_end(CLAUDE_CODE, tmp_path / "a.jsonl", data) is not None
    assert at_end(CLAUDE_CODE, tmp_path / "a.jsonl", data + to_lines(last)) is None
    assert at_end(CLAUDE_CODE, tmp_path / "a.jsonl", data[:-40]) is None


@pytest.mark.parametrize("agent", [CLAUDE_CODE, CODEX_AGENT, PI])
@pytest.mark.parametrize("last", [b'{"type":"x","y":' + b"[" * 200_000, b"\xff\xfe", b"[]", b"7", b"\0" * 9_000])
def test_an_end_that_is_no_record_says_nothing(tmp_path: Path, agent: Agent, last: bytes) -> None:
    begun = ClaudeLog().ask("Look.").answer(9_000).data
    assert at_end(agent, tmp_path / "a.jsonl", begun + last + b"\n") is None


def without_ids(said: tuple[object, ...]) -> tuple[object, ...]:
    """Returns the same without the id of the message that the usage is of."""
    report, *rest = said
    return (replace(report, message_id="") if isinstance(report, UsageReported) else report, *rest)


@pytest.mark.parametrize("is_before", [True, False])
def test_a_usage_of_codex_is_read_with_the_prompt_that_shows_whose_it_is(is_before: bool) -> None:
    document = parse_document(to_lines(*_codex_lines(is_before=is_before)), "rollout.jsonl")
    whole = shown(CODEX, document)
    for first in range(1, len(document.lines)):
        part = Document(name="rollout.jsonl", lines=(document.lines[0], *document.lines[first:]))
        read = from_last_answer(CODEX, part, 1)
        # Where no prompt is in the end, nothing is shown of it.
        assert len(read.lines) == 1 or shown(CODEX, read)[:1] == whole[:1]


def shown(known: Format, document: Document) -> tuple[int, int]:
    """Returns the last usage, and how many messages follow it."""
    try:
        events = known.read(document).events
    except UnreadableTranscript:
        return 0, 0
    last = max((place for place, event in enumerate(events) if isinstance(event, UsageReported)), default=0)
    report = events[last]
    later = sum(isinstance(event, MessageAppended) for event in events[last:])
    return (report.usage.total if isinstance(report, UsageReported) else 0), later


def _codex_lines(*, is_before: bool) -> list[dict[str, Any]]:
    def answer(prompt: int, *items: dict[str, Any]) -> list[dict[str, Any]]:
        return [counted(prompt), *items] if is_before else [*items, counted(prompt)]

    return [
        session(id="0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9", cwd="/home/ada"),
        said("user", "Look."),
        *answer(9_000, call("c1")),
        output("c1"),
        *answer(12_000, said("assistant", "Both are fine.")),
        said("user", "And now?"),
        *answer(15_000, call("c2")),
        output("c2"),
        *answer(21_000, said("assistant", "Now, too.")),
    ]
