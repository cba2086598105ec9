"""Reports as programs and gateways write them, each with the figure, the window and the threshold that are right."""

from typing import Any

import pytest

from support.claude_log import ClaudeLog
from support.foreign import to_lines
from support.workspace import build_test_client

OPUS = {"model": "claude-opus-5-5", "version": "2.1.332"}


def one(tokens: int, output: int, cached: int = 0, kind: str = "message") -> dict[str, Any]:
    return {"type": kind, "input_tokens": tokens, "output_tokens": output, "cache_read_input_tokens": cached}


def passes(*listed: dict[str, Any]) -> dict[str, Any]:
    """A usage whose counts are the sums of its passes of the main model."""
    own = [item for item in listed if item["type"] == "message"]
    names = ("input_tokens", "output_tokens", "cache_read_input_tokens")
    return {name: sum(item[name] for item in own) for name in names} | {"iterations": [*listed]}


def claude(usage: dict[str, Any], model: str = "claude-opus-4-6", version: str = "2.1.39") -> str:
    log = ClaudeLog(model=model, version=version).ask().answer(40_000).ask().answer(41_000)
    log.lines[-1]["message"]["usage"] = usage
    return log.text


def streamed(*usages: dict[str, Any] | None) -> str:
    """A log whose last answer has a line for each usage."""
    log = ClaudeLog().ask().answer(40_000).ask()
    for usage in usages:
        log.answer(1, text=f"Part {len(log.lines)}.")
        log.lines[-1]["message"] |= {"id": "streamed", "usage": usage}
    return log.text


def placeholder() -> str:
    log = ClaudeLog().ask().read("/a.py", "word " * 24_000).answer(100)
    return log.text


def compacted(trigger: str, *, is_due: bool) -> str:
    log = ClaudeLog(**OPUS).ask().answer(240_000)
    return (log.ask() if is_due else log).compact(240_100, trigger).ask().answer(30_000).text


def line(kind: str, **payload: Any) -> dict[str, Any]:
    return {"timestamp": "2026-11-20T10:00:00.000Z", "type": kind, "payload": payload}


def said(role: str, kind: str) -> dict[str, Any]:
    return line("response_item", type="message", role=role, content=[{"type": kind, "text": "Go on."}])


def counted(last: dict[str, int] | None, window: int | None = 475_000) -> dict[str, Any]:
    info = last and {"last_token_usage": last, "total_token_usage": last, "model_context_window": window}
    return line("event_msg", type="token_count", info=info)


TURN = (said("user", "input_text"), said("assistant", "output_text"))


def asked(prompt: int) -> dict[str, int]:
    return {"input_tokens": prompt, "output_tokens": 20, "total_tokens": prompt + 20}


def codex(*lines: dict[str, Any], model: str = "gpt-6.1-sol") -> str:
    head = line("session_meta", id="a1", cwd="/p", cli_version="0.171.0", model=model)
    return to_lines(head, *lines).decode()


FULL = codex(*TURN, counted(asked(240_000)))
MILLION = (1_000_000, 967_000)
CASES: dict[str, tuple[str, int, tuple[int, int] | None]] = {
    "an advisor in the middle": (
        claude(passes(one(2, 300, 60_000), one(5, 90, kind="advisor_message"), one(2, 200, 61_000))),
        61_202,
        (200_000, 167_000),
    ),
    "an advisor at the end": (
        claude(passes(one(2, 300, 60_000), one(2, 200, 61_000), one(5, 90, kind="advisor_message"))),
        61_202,
        None,
    ),
    "a compaction by the provider between passes": (
        claude(passes(one(2, 0, 60_000), one(0, 400, kind="compaction"), one(2, 200, 21_000))),
        21_202,
        None,
    ),
    "passes of a kind that is not known": (
        claude({**one(3, 7, 50_000), "iterations": [one(1, 1, 0, "x")]}),
        50_010,
        None,
    ),
    "no passes": (claude({**one(3, 7, 50_000), "iterations": None}), 50_010, None),
    "a sum that lacks the parts of the cache": (
        claude(
            {
                "input_tokens": 10,
                "output_tokens": 20,
                "cache_creation_input_tokens": 0,
                "cache_creation": {"ephemeral_5m_input_tokens": 2_000, "ephemeral_1h_input_tokens": 40_000},
            }
        ),
        42_030,
        None,
    ),
    "counts with a point": (
        claude({"input_tokens": 3.0, "cache_read_input_tokens": 5e4, "output_tokens": 7}),
        50_010,
        None,
    ),
    "counts as text": (
        claude({"input_tokens": "3", "cache_read_input_tokens": "50000", "output_tokens": "7"}),
        50_010,
        None,
    ),
    "a last line without counts": (streamed(one(3, 7, 50_000), {"input_tokens": 0, "output_tokens": 0}), 50_010, None),
    "a last line without a usage": (streamed(one(3, 7, 50_000), None), 50_010, None),
    "a first line without counts": (streamed({"input_tokens": 0}, one(3, 7, 50_000)), 50_010, None),
    "a first line with a placeholder": (streamed(one(3, 1, 50_000), one(3, 7, 50_000)), 50_010, None),
    "a name of Bedrock": (claude(one(3, 7, 50_000), "us.anthropic.claude-opus-5-5-v1:0", "2.1.332"), 50_010, MILLION),
    "a name of Vertex": (claude(one(3, 7, 50_000), "claude-opus-5-5@20261001", "2.1.332"), 50_010, MILLION),
    "a name of a router": (claude(one(3, 7, 50_000), "anthropic/claude-opus-5-5", "2.1.332"), 50_010, MILLION),
    "a model of another maker": (claude(one(3, 7, 50_000), "glm-5", "2.1.332"), 50_010, MILLION),
    "a model of another maker, before": (claude(one(3, 7, 50_000), "glm-5", "2.1.318"), 50_010, (200_000, 167_000)),
    "a compaction that idleness caused": (compacted("auto", is_due=False), 30_050, MILLION),
    "one that a plugin caused": (compacted("plugin", is_due=True), 30_050, MILLION),
    "one of a cause that is not known": (compacted("timer", is_due=True), 30_050, MILLION),
    "a single one far below the threshold": (compacted("auto", is_due=True), 30_050, MILLION),
    "Codex": (codex(*TURN, counted(asked(100_000))), 100_020, (475_000, 450_000)),
    "Codex with an effort in the name": (
        codex(*TURN, counted(asked(100_000), None), model="gpt-6.1-sol-high"),
        100_020,
        (475_000, 450_000),
    ),
    "Codex with a router in the name": (
        codex(*TURN, counted(asked(100_000), None), model="openai/gpt-6.1-sol:exacto"),
        100_020,
        (475_000, 450_000),
    ),
    "Codex after its own estimate": (
        FULL
        + to_lines(
            line("compacted", message="All is well.", replacement_history=[]),
            counted({"input_tokens": 0, "output_tokens": 0, "total_tokens": 9_000}),
        ).decode(),
        9_000,
        (475_000, 450_000),
    ),
    "Codex after a turn": (
        FULL
        + to_lines(
            line("compacted", message="All is well.", replacement_history=[]), *TURN, counted(asked(12_000))
        ).decode(),
        12_020,
        (475_000, 450_000),
    ),
    "Codex in a new window": (
        codex(*TURN, counted(asked(420_000)), line("compacted", message=""), *TURN, counted(asked(12_000))),
        12_020,
        (475_000, 450_000),
    ),
}


async def figures(text: str) -> tuple[int, str, tuple[int, int]]:
    usage = (await build_test_client().call("session/import", text=text))["session"]["usage"]
    meta = usage["_meta"]["ullage"]
    return usage["used"], meta["source"], (meta["window"]["size"], meta["threshold"]["tokens"])


@pytest.mark.parametrize("name", CASES)
async def test_the_figure_and_where_the_agent_compacts(name: str) -> None:
    text, used, limits = CASES[name]
    found, source, known = await figures(text)
    assert (found, source) == (used, "estimated" if name == "Codex after its own estimate" else "reported")
    assert limits in (None, known)


async def test_what_an_answer_that_was_cut_off_has_used_is_not_the_figure() -> None:
    def answer(number: int, reason: str, **usage: int) -> dict[str, Any]:
        parts, place = [{"type": "text", "text": "Well."}], {"id": f"a{number}", "parentId": f"u{number}"}
        said = {"role": "assistant", "content": parts, "model": "claude-sonnet-4-5", "usage": usage}
        return {"type": "message", **place, "message": said | {"stopReason": reason}}

    def ask(number: int, parent: str | None) -> dict[str, Any]:
        said = {"role": "user", "content": [{"type": "text", "text": "Go on."}]}
        return {"type": "message", "id": f"u{number}", "parentId": parent, "message": said}

    head = {"type": "session", "version": 3, "id": "s", "timestamp": "2026-11-20T10:00:00.000Z", "cwd": "/p"}
    whole = to_lines(head, ask(1, None), answer(1, "stop", input=40_000, output=20), ask(2, "a1"))
    cut = to_lines(answer(2, "aborted", input=12, output=4, cacheRead=1_000_000))
    for text in (whole, whole + cut):
        imported = await build_test_client().call("session/import", text=text.decode())
        assert 40_000 < imported["session"]["usage"]["used"] < 40_100


async def test_a_count_that_cannot_be_true_beside_the_text_is_not_the_figure() -> None:
    used, source, _ = await figures(placeholder())
    assert (used > 20_000, source) == (True, "estimated")


@pytest.mark.parametrize("count", [2**53 - 1, 10**9])
async def test_a_count_larger_than_any_window_is_neither_the_figure_nor_a_window(count: int) -> None:
    used, source, limits = await figures(claude(one(3, 7, count), **OPUS))
    assert (40_000 < used < 42_000, source, limits) == (True, "stale", MILLION)


@pytest.mark.parametrize("last", [None, {"input_tokens": 0, "output_tokens": 0, "total_tokens": 0}])
async def test_a_report_that_says_nothing_leaves_the_figure_before_it(last: dict[str, int] | None) -> None:
    used, source, _ = await figures(codex(*TURN, counted(asked(100_000)), *TURN, counted(last)))
    assert 100_000 <= used < 101_000
    assert source == "stale"
