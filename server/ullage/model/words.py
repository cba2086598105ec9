"""The texts of notices and other lines shown to users: one line each, the same in every editor."""

from collections.abc import Sequence

from ullage.model.edits import (
    ClearThinkingEdit,
    ClearToolUsesEdit,
    CompactionEdit,
    DropEdit,
    DuplicateReadsEdit,
    Edit,
    RepeatedFile,
    RewriteEdit,
    ShortenEdit,
    compaction_block,
)
from ullage.model.usage import UsageSource

# The number of files that a notice names; a longer list would not be read.
_NAMED = 3


def short(tokens: int) -> str:
    """Returns a token figure for narrow places: `950`, `4.2K`, `58K`, `1.2M`."""
    if tokens < 1_000:
        return str(tokens)
    if tokens < 9_950:
        return f"{tokens / 1_000:.1f}".removesuffix(".0") + "K"
    if tokens < 999_500:
        # Half a thousand is rounded up, as the TypeScript and Lua twins do.
        return f"{(tokens + 500) // 1_000}K"
    return f"{tokens / 1_000_000:.1f}".removesuffix(".0") + "M"


def shrinking(before: int, after: int) -> str:
    """Returns how an edit changed the size of the context: `164K → 31K`."""
    return f"{short(before)} → {short(after)}"


def context_warning(used: int, usable: int, compact_at: int, *, asks: bool = False) -> str:
    """The context passed the warning threshold. `asks` means that a compaction will wait for the user's consent."""
    what = "Asks to be compacted" if asks else "Compacts by itself"
    return f"{_full(used, usable)} {what} at {short(compact_at)}."


def compaction_due(used: int, usable: int) -> str:
    """The context should be compacted, and the user wants to be asked before."""
    return f"{_full(used, usable)} Compact it now; it compacts by itself only when it overflows."


def auto_compacting(used: int) -> str:
    """An automatic compaction begins."""
    return f"Compacting the context ({short(used)})…"


def compacted(messages: int, before: int, after: int) -> str:
    """A compaction succeeded."""
    return f"Compacted {_messages(messages)}: {shrinking(before, after)}. Everything is kept; undo any time."


def cleared(what: str, before: int, after: int) -> str:
    """An edit cheaper than a compaction made room; `what` was removed from the context (`old tool results`)."""
    return f"Cleared {what}: {shrinking(before, after)}. Undo any time."


def repeated(files: Sequence[RepeatedFile], share: float) -> str:
    """The cost of repeated file reads: their share of the context, and the files, the most expensive ones by name."""
    named = [f"{file.path} {file.occurrences}× ({short(file.tokens_saved)})" for file in files[:_NAMED]]
    more = [f"{len(files) - _NAMED} more"] if len(files) > _NAMED else []
    return f"{round(100 * share)}% of the context was file contents shown again later: {', '.join([*named, *more])}."


def undone(before: int, after: int) -> str:
    """An edit was undone."""
    return f"Undone: {shrinking(before, after)}."


def nothing_to_compact(messages: int, used: int) -> str:
    """No message of the context can be archived."""
    return f"Nothing to compact: {_messages(messages)}, {short(used)} tokens."


def nothing_in_stretch(note: str) -> str:
    """The range that the user chose to compact is too short, or its messages must stay."""
    return f"Nothing to compact there: a summary would take as much room. {note}".strip()


def compaction_failed(reason: str) -> str:
    """A compaction failed; the context is unchanged."""
    return f"Compaction failed: {reason}"


def compaction_vetoed(reason: str) -> str:
    """One of the user's hooks stopped a compaction; `reason` is a clause."""
    return f"Not compacted: {reason}."


def hook_failed(hook: str, reason: str) -> str:
    """A hook (such as `preCompact`) failed; the compaction continued without it."""
    return f"The {hook} hook failed and was passed over: {reason}."


def compaction_retried(what: str, reason: str) -> str:
    """A summary could not be made; `what` is tried instead."""
    return f"Compaction failed: {reason.rstrip('.')}. Trying {what} instead."


def breaker_opened(reason: str, biggest: str, tokens: int) -> str:
    """Automatic compaction stops, because it does not help. `reason` is the clause that says why (`failed 3 times in
    a row`); `biggest` names the largest item (`message 212`)."""
    return (
        f"Automatic compaction stopped, it {reason}: {biggest} alone is {short(tokens)} tokens. "
        "It starts again after a compaction by hand, or once three answers in a row end below the warning."
    )


def cannot_fit(used: int, usable: int, biggest: str, tokens: int) -> str:
    """The context exceeds the window even after cutting. `biggest` names the largest item that must stay."""
    return (
        f"The context cannot fit: what must stay is {short(used)} of {short(usable)} usable tokens, {biggest} alone "
        f"{short(tokens)}. Make that smaller, or choose a model with a larger window."
    )


def offline_summary_used(reason: str, before: int, after: int) -> str:
    """No model could write the summary, so the offline summary was used; `reason` is a word or two."""
    sizes = shrinking(before, after)
    return f"The model's summary failed ({reason.rstrip('.')}). Used the offline summary instead: {sizes}."


def waiting_for_provider(provider: str, reason: str, seconds: float) -> str:
    """The provider is busy; another try follows after `seconds`."""
    return f"{provider} is busy ({reason}). Trying again in {seconds:.0f} s."


def no_model() -> str:
    """No provider is configured, so there is no model to chat with."""
    return (
        "No model is configured. Context tracking and offline compaction work; "
        "set ANTHROPIC_API_KEY or OPENAI_API_KEY, or ullage.provider, to chat."
    )


def how_to_give_key(variable: str, *, keyring: bool) -> str:
    """How to provide the missing key; `keyring` if that extra is installed."""
    before = "" if keyring else f"{how_to_install('keyring')} and "
    return f"set {variable}, or keep it in the system's keyring with {before}`keyring set ullage {variable}`."


def sdk_missing(provider: str, extra: str) -> str:
    """A provider's Python package is not installed."""
    return f"{provider} needs the Python package {extra}, which is not installed; run {how_to_install(extra)}."


def how_to_install(extra: str) -> str:
    """The command that installs one of Ullage's extras."""
    return f"`pip install 'ullage[{extra}]'`"


def _full(used: int, usable: int) -> str:
    return f"Context {round(100 * used / usable)}% full ({short(used)} of {short(usable)} usable)."


def edited(edit: Edit) -> str:
    """What an edit did, for the list of a session's edits."""
    match edit:
        case CompactionEdit():
            done = f"Compacted {_messages(compaction_block(edit).messages_archived)}"
        case DropEdit(message_ids=ids):
            done = f"Left out {_messages(len(ids))}"
        case DuplicateReadsEdit(replacements=replacements):
            done = f"Replaced {_count(len(replacements), 'repeated file read')}"
        case ClearToolUsesEdit(cleared_tool_uses=cleared):
            done = f"Cleared {_count(cleared, 'old tool result')}"
        case ClearThinkingEdit(cleared_thinking_turns=turns):
            done = f"Cleared the thinking of {_count(turns, 'turn')}"
        case RewriteEdit(replacements=replacements):
            done = f"Rewrote {_count(len(replacements), 'block')}"
        case ShortenEdit(replacements=replacements):
            done = f"Shortened {_count(len(replacements), 'block')}"
    return done


def _messages(count: int) -> str:
    return _count(count, "message")


def _count(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def context_line(used: int, size: int | None, source: UsageSource) -> str:
    """Returns how full a context is: `Context: 45% (58K/128K tokens, reported)`."""
    if size is None:
        return f"Context: {short(used)} tokens, limit unknown ({source.value})"
    return f"Context: {round(100 * used / size)}% ({short(used)}/{short(size)} tokens, {source.value})"
