"""The tool `context`: how full the model's context is, how that is known, and which messages fill it."""

import time
from collections.abc import Iterator
from heapq import nlargest

from ullage.api.wire import context_text, usage_result
from ullage.mcp.looking_up import MAX_RESULT, fits, reference_of
from ullage.model.updates import UsageMeta
from ullage.model.usage import UsageSource
from ullage.model.words import next_prompt
from ullage.redaction.quoting import RECORD, cut, one_line
from ullage.service.conversation.conversation import Conversation, view_page

# Messages that are listed as the biggest.
_BIGGEST = 6
# Bytes of a line of evidence.
_EVIDENCE = 300
_SOURCES = {
    UsageSource.REPORTED: "The provider has reported the figure",
    UsageSource.STALE: "The figure is the provider's last report and a count of what came after it",
    UsageSource.ESTIMATED: "The figure is an estimate, because the provider has not reported it",
}


async def figure_text(own: Conversation) -> str:
    """Returns the figure of the conversation's context, its parts, the evidence for it, and the references of the
    biggest messages."""
    usage = usage_result(own)
    meta = usage.meta.ullage
    now = own.workspace.ports.clock.now()
    of = f" of {usage.size:,}" if usage.size is not None else ""
    lines = [
        context_text(usage),
        "",
        f"Exactly {usage.used:,}{of} tokens.",
        *_known(meta, now),
        "",
        "The biggest messages:",
    ]
    lines += [*await _biggest(own)] or ["- none"]
    lines += ["", RECORD]
    for line in _evidence(own, meta):
        if fits([*lines, line], MAX_RESULT):
            lines.append(line)
    return "\n".join(lines)


def _known(meta: UsageMeta, now: int) -> Iterator[str]:
    """Yields how the figure is known, and what is left."""
    since = "" if meta.reported_at is None else f", {_ago(now - meta.reported_at)}"
    yield f"{_SOURCES[meta.source]}{since}. Messages after the report: {meta.pending_messages:,}."
    if meta.left is not None:
        where = f"the compaction at {meta.compact_at:,}" if meta.compact_at is not None else "the window is full"
        yield f"Left until {where}: {meta.left:,} tokens."
    if meta.calls_left is not None:
        calls = meta.calls_left
        yield f"Calls left until then: about {calls.mean:,}" + (f", at least {calls.low:,}." if calls.low else ".")
    if meta.cache is not None:
        until = time.strftime("%H:%M", time.localtime(meta.cache.until / 1_000))
        yield f"Prompt cache: {next_prompt(meta.cache, until, now)}."


def _ago(milliseconds: int) -> str:
    minutes = max(0, milliseconds) // 60_000
    for size, unit in ((1440, "days"), (60, "hours")):
        if minutes >= 2 * size:
            return f"{minutes // size:,} {unit} ago"
    return f"{minutes} minutes ago"


def _evidence(own: Conversation, meta: UsageMeta) -> Iterator[str]:
    """Yields what is said for the window and the threshold, as a quotation: names in it come from the conversation."""
    facts = (
        ("window", f"{meta.window.size:,} ({meta.window.source.value}): {meta.window.basis}" if meta.window else ""),
        ("contradiction", (meta.window.contradiction or "") if meta.window else ""),
        (
            "compacts",
            f"at {meta.threshold.tokens:,}, {meta.threshold.percent} % ({meta.threshold.source.value}): "
            f"{meta.threshold.basis}"
            if meta.threshold
            else "",
        ),
        *(("remark", remark.text) for remark in meta.remarks),
        ("agent", meta.agent),
        ("model", meta.model),
        ("folder", own.transcript.cwd),
        ("title", own.transcript.title),
    )
    yield from (one_line(f"{name}: {words}", _EVIDENCE) for name, words in facts if words)


async def _biggest(own: Conversation) -> Iterator[str]:
    page = await view_page(own, 0, None)
    return (
        cut(
            f"- {'a summary' if entry.inserted else reference_of(entry.index)} {entry.message.speaker}: "
            f"{entry.tokens:,} tokens",
            _EVIDENCE,
        )
        for entry in nlargest(_BIGGEST, page.entries, key=lambda entry: entry.tokens)
        if entry.tokens
    )
