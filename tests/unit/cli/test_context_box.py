"""The `/context` box as users see it."""

import time

import pytest
from msgspec.structs import replace
from rich.cells import cell_len

from support.usages import NOW, make_usage
from ullage.api.protocol import UsageResult
from ullage.cli.commands.compact import Shrunk, compaction_box
from ullage.cli.commands.context import Big, context_box
from ullage.cli.drawing import ASCII, UNICODE, Glyphs
from ullage.model.message import CompactionBlock
from ullage.model.updates import Breakdown, Cost, Meta
from ullage.model.usage import (
    CacheMiss,
    CacheMissCause,
    CacheSource,
    CallsLeft,
    HiddenKind,
    HiddenPart,
    IdleCompaction,
    KnownThreshold,
    KnownWindow,
    PromptCache,
    ThresholdSource,
    UsageSource,
    WindowSource,
)

DRAWN = """\
+----------------------------------------------------------+
| Context                                claude-sonnet-4-5 |
+----------------------------------------------------------+
| [######################..............|...........]  46%  |
|                                                          |
| Now       58,432 tokens, counted by Anthropic, 12 s ago  |
| Window    128,000 (its log proves it)                    |
| Compacts  | at 97,200 (its rule, seen 12 times)          |
| Messages  12 of 45, compacted 2 times                    |
| Cost      $12.30 by list prices                          |
+- What it holds ------------------------------------------+
| Messages                31,010   24%  ####               |
| Tool results            19,318   15%  ###                |
| Tools                    6,104    5%  #                  |
| All else                 2,000    2%                     |
| For the answer          19,200   15%  ...                |
| Free                    50,368   39%  .......            |
+- Its biggest messages -----------------------------------+
| #8 Read src/auth/token.py: import time          9K    7% |
+----------------------------------------------------------+"""
BIG = Big(index=7, opening="Read src/auth/token.py: import time", tokens=8_960)
WIDE = Big(index=1_283, opening="日本語のとても長い見出しです。日本語のとても長い見出しです。👩‍💻 done", tokens=900)


def known() -> UsageResult:
    """Returns a context of which everything is known."""
    usage = make_usage()
    meta = replace(
        usage.meta.ullage,
        window=KnownWindow(size=128_000, source=WindowSource.LOG, basis="its log proves it"),
        threshold=KnownThreshold(tokens=97_200, percent=76, source=ThresholdSource.LEARNED, basis="its rule", times=12),
    )
    return replace(usage, meta=Meta(ullage=meta), cost=Cost(amount=12.3, currency="USD"))


def drawn(usage: UsageResult, glyphs: Glyphs = ASCII, width: int = 60, biggest: tuple[Big, ...] = ()) -> str:
    return "\n".join(line.plain for line in context_box(usage, NOW, glyphs, width, biggest))


def test_box_shows_figures_with_their_origin_parts_by_size_and_the_biggest_messages() -> None:
    assert drawn(known(), biggest=(BIG,)) == DRAWN


@pytest.mark.parametrize("width", [40, 41, 59, 80, 120, 200])
@pytest.mark.parametrize("glyphs", [ASCII, UNICODE])
def test_every_line_is_exactly_as_wide_as_asked_also_with_wide_characters(width: int, glyphs: Glyphs) -> None:
    lines = context_box(known(), NOW, glyphs, width, (BIG, WIDE))
    assert {line.cell_len for line in lines} == {width}
    assert {cell_len(line.plain) for line in lines} == {width}


def test_a_context_far_over_its_window_keeps_its_columns_apart() -> None:
    usage = make_usage(27_000_004, size=200_000)
    meta = replace(usage.meta.ullage, breakdown=Breakdown(messages=27_000_004))
    lines = drawn(replace(usage, meta=Meta(ullage=meta)), biggest=(replace(BIG, tokens=27_000_000),)).splitlines()
    assert {len(line) for line in lines} == {60}
    assert any(line.startswith("| Messages                   27M >999%  ####") for line in lines)
    assert any(line.endswith("]  13500% |") for line in lines)
    assert lines[-2].endswith(" 27M >999% |")
    far = drawn(make_usage(27_000_004, size=1_000)).splitlines()
    assert {len(line) for line in far} == {60}


@pytest.mark.parametrize(
    ("left", "said"),
    [
        (CallsLeft(mean=36, low=15, high=68), "40,000 left, about 36 calls, at least 15"),
        (CallsLeft(mean=2, low=0, high=9), "40,000 left, about 2 calls"),
    ],
)
def test_calls_left_are_a_likely_number_and_the_least(left: CallsLeft, said: str) -> None:
    usage = replace(known().meta.ullage, left=40_000, calls_left=left)
    words = drawn(replace(known(), meta=Meta(ullage=usage))).replace("|", " ").split()
    assert said in " ".join(words)


def test_a_compaction_that_is_due_has_no_calls_left_until_then() -> None:
    due = replace(known().meta.ullage, left=0, calls_left=CallsLeft(mean=0, low=0, high=0))
    text = drawn(replace(known(), meta=Meta(ullage=due)))
    assert "at 97,200, due now" in text
    assert "call" not in text


def test_a_marker_among_the_biggest_has_no_number_because_no_command_takes_one() -> None:
    assert "| Compaction 1" in drawn(known(), biggest=(Big(index=None, opening="Compaction 1", tokens=9_000),))


def test_unknown_window_is_said_and_draws_no_bar() -> None:
    text = drawn(make_usage(size=None, compact_at=None), UNICODE)
    assert "limit unknown" in text
    assert UNICODE.full not in text.split("What it holds")[0]


def test_a_message_of_one_per_cent_or_less_is_not_among_the_biggest() -> None:
    small = replace(BIG, opening="a short answer", tokens=1_900)
    text = drawn(make_usage(), biggest=(BIG, small))
    assert small.opening not in text
    assert BIG.opening in text


def test_all_parts_are_listed_however_small_so_that_they_add_up_to_the_window() -> None:
    usage = make_usage(50_970)
    meta = replace(usage.meta.ullage, breakdown=Breakdown(messages=10, overhead=50_960))
    text = drawn(replace(usage, meta=Meta(ullage=meta)))
    assert "| All else                    10   <1%" in text
    rows = text.split("What it holds")[1].replace(",", "").splitlines()[1:-1]
    assert sum(int(row.split("%")[0].split()[-2]) for row in rows) == 128_000


def test_an_agents_own_part_is_called_its_system_prompt_and_tools() -> None:
    def parts(held: Breakdown) -> str:
        usage = make_usage()
        return drawn(replace(usage, meta=Meta(ullage=replace(usage.meta.ullage, breakdown=held))))

    assert "| System prompt, tools    50,960   40%" in parts(Breakdown(messages=7_472, overhead=50_960))
    both = parts(Breakdown(messages=7_472, tools=10_000, overhead=50_960))
    assert "| Added by the agent      50,960" in both


@pytest.mark.parametrize(
    ("model", "who"),
    [
        ("claude-opus-4-8", "Anthropic"),
        ("gpt-6.1-sol", "OpenAI"),
        ("gemini-3-pro", "Google"),
        ("qwen3", "the provider"),
    ],
)
def test_source_says_who_counted_and_when(model: str, who: str) -> None:
    def said(source: UsageSource) -> str:
        usage = make_usage(source=source)
        return drawn(replace(usage, meta=Meta(ullage=replace(usage.meta.ullage, model=model))), width=80)

    assert f"counted by {who}, 12 s ago" in said(UsageSource.REPORTED)
    assert f"counted by {who}, and 3 messages since" in " ".join(said(UsageSource.STALE).replace("|", " ").split())
    assert "estimated, about 4% off" in drawn(make_usage(source=UsageSource.ESTIMATED))


def test_colour_of_the_figure_follows_the_thresholds() -> None:
    def styles(used: int) -> set[str]:
        lines = context_box(make_usage(used), NOW, ASCII, 60)
        return {str(span.style) for line in lines for span in line.spans}

    assert "green" in styles(50_000)
    assert "bold yellow" in styles(90_000)
    assert "bold red" in styles(100_000)


@pytest.mark.parametrize("width", [40, 80, 200])
def test_a_compaction_is_told_in_one_pair_of_sizes_and_the_promise_is_never_cut(width: int) -> None:
    block = CompactionBlock(
        compaction_number=1, timestamp=NOW, summary="", messages_archived=84, context_size_before=45_079
    )
    sizes = Shrunk(
        before=77_419, after=40_333, hidden=32_340, hidden_name="the agent's own prompt", budget=8_000, counted=7_993
    )
    lines = [line.plain for line in compaction_box(block, sizes, "ullage undo s_1", ASCII, width)]
    assert {len(line) for line in lines} == {width}
    text = " ".join(" ".join(lines).replace("|", " ").split())
    assert "84 messages, all kept" in text
    assert "77,419 -> 40,333 tokens" in text
    assert "with 32,340 that stay: the agent's own prompt" in text
    assert "7,993 of 8,000 tokens used" in text
    assert "37,086 tokens (48%)" in text
    assert "ullage undo s_1" in text


def test_a_compaction_for_idling_is_announced_until_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    usage = known()
    at = 1_763_812_440_000
    idle = IdleCompaction(at=at, setting='"idleCompaction": false')
    meta = replace(usage.meta.ullage, agent="Claude Code", idle=idle)
    usage = replace(usage, meta=Meta(ullage=meta))

    def text(now: int) -> str:
        return " ".join("".join(line.plain for line in context_box(usage, now, ASCII, 60)).replace("|", " ").split())

    words = (
        'Idle Claude Code, if it still runs, compacts by itself at 11:54 because it idles ("idleCompaction": false in '
        "its settings stops"
    )
    assert words in text(at - 1)
    assert "Idle" not in text(at)


def test_the_cache_of_the_last_prompt_is_said_with_the_last_miss(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    until = 1_763_812_440_000
    miss = CacheMiss(at=until - 9_000_000, cause=CacheMissCause.IDLE, tokens=74_300)
    cache = PromptCache(
        until=until, keeps=300_000, source=CacheSource.PROMISED, tokens=9, warm=0.057, cold=1.9, miss=miss
    )
    usage = known()
    usage = replace(usage, meta=Meta(ullage=replace(usage.meta.ullage, cache=cache)))
    box = context_box(usage, until - 1, ASCII, 60)
    text = " ".join("".join(line.plain for line in box).replace("|", " ").split())
    assert (
        "Cache warm until 11:54; the next prompt costs $0.06 until then, $1.90 after it; 74K tokens were last paid in"
        in text
    )


def test_servers_whose_tools_are_not_in_the_log_are_named() -> None:
    usage = known()
    rest = HiddenPart(kind=HiddenKind.UNKNOWN, tokens=900, name="github, jira")
    meta = replace(usage.meta.ullage, hidden=replace(usage.meta.ullage.hidden, tokens=900, parts=(rest,)))
    drawn = "\n".join(line.plain for line in context_box(replace(usage, meta=Meta(ullage=meta)), NOW, ASCII, 80))
    assert "| MCP       github, jira: their tools are in what the agent adds" in drawn
