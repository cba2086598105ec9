"""The texts of notices and other lines shown to users: one line each, the same in every editor."""

import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import PurePath

from ullage.model.events import (
    ClearThinkingEdit,
    ClearToolUsesEdit,
    CompactionCause,
    CompactionEdit,
    DropEdit,
    DuplicateReadsEdit,
    Edit,
    RepeatedFile,
    RewindEdit,
    RewriteEdit,
    ShortenEdit,
    compaction_block,
)
from ullage.model.message import Message, Role
from ullage.model.usage import (
    CacheMiss,
    CacheMissCause,
    CacheSource,
    GoodMoment,
    HiddenKind,
    HiddenPart,
    PromptCache,
    RateLimit,
    UsageSource,
)

# The folder in which pipx has its environments.
_PIPX = "venvs"
# The number of files that a notice names; a longer list would not be read.
_NAMED = 3
# Parts of what an agent adds to each request that a box names.
_PARTS = 8


def short(tokens: int) -> str:
    """Returns a number of tokens in a short form: `950`, `4.2K`, `58K`, `1.2M`."""
    if tokens < 1_000:
        return str(tokens)
    if tokens < 9_950:
        return f"{tokens / 1_000:.1f}".removesuffix(".0") + "K"
    if tokens < 999_500:
        # Half a thousand is rounded up, as the TypeScript and Lua twins do.
        return f"{(tokens + 500) // 1_000}K"
    return f"{tokens / 1_000_000:.1f}".removesuffix(".0") + "M"


def percent(tokens: int, window: int) -> int:
    """Returns `tokens` as a percentage of `window`. Halves are rounded up, as in TypeScript and Lua."""
    return (200 * tokens + window) // (2 * window)


def hidden_part(holder: str) -> str:
    """Returns the name of the tokens that the conversation does not contain: `HOLDER's own prompt and tools`. `holder`
    is the name of the agent that has the conversation, or `the agent` if its name is not known; empty means a client of
    Ullage."""
    return f"{holder or 'the client'}'s own prompt and tools"


def hidden_rows(parts: Sequence[HiddenPart]) -> list[tuple[str, int]]:
    """Returns the names of what an agent adds to each request with its tokens, the largest first and what is not known
    last. All but the largest eight are summed. An estimate is marked by `~`."""
    known = sorted((part for part in parts if part.kind is not HiddenKind.UNKNOWN), key=lambda part: -part.tokens)
    rows = [(f"{'~' if part.estimated else ''}{_hidden_name(part)}", part.tokens) for part in known[:_PARTS]]
    if others := known[_PARTS:]:
        rows.append((f"~{len(others)} more", sum(part.tokens for part in others)))
    return rows + [("not in the log", part.tokens) for part in parts if part.kind is HiddenKind.UNKNOWN]


def _hidden_name(part: HiddenPart) -> str:
    # The end of a path says more than its beginning.
    name = "/".join(part.name.replace("\\", "/").rsplit("/", 2)[-2:])
    # An agent's own number is of all its tools.
    tools = "built-in tools" if part.estimated else "tools"
    kinds = {HiddenKind.SYSTEM_PROMPT: "system prompt", HiddenKind.TOOLS: tools, HiddenKind.SKILLS: "skills"}
    return f"MCP {name}" if part.kind is HiddenKind.MCP else kinds.get(part.kind, name or "memory files")


def shrinking(before: int, after: int) -> str:
    """Returns the context's tokens before and after an edit: `164K → 31K`."""
    return f"{short(before)} → {short(after)}"


def context_warning(  # noqa: PLR0913 (the facts of one sentence)
    used: int,
    window: int,
    compact_at: int | None,
    *,
    asks: bool = False,
    on_request: bool = False,
    agent: str = "",
) -> str:
    """Returns the notice that the context reached the warning threshold, with the compaction threshold `compact_at` if
    that is not None. `asks` means that a compaction will wait for the user's consent, `on_request` that it happens only
    when a program asks for room. `agent` is the name of the agent that compacts the context, empty if Ullage does.
    Figures are tokens."""
    if compact_at is None:
        return _full(used, window)
    if used >= compact_at and not agent:
        return f"{_full(used, window)} Due for compaction since {percent(compact_at, window)}% ({short(compact_at)})."
    by_ullage = "Due for compaction" if on_request else "Asks to be compacted" if asks else "Compacts by itself"
    what = f"{agent} compacts it" if agent else by_ullage
    return f"{_full(used, window)} {what} at {percent(compact_at, window)}% ({short(compact_at)})."


def compaction_due(used: int, window: int) -> str:
    """Returns the notice that the context should be compacted, for a user who wants to be asked before."""
    return f"{_full(used, window)} Compact it now; it compacts by itself only when it overflows."


def due_by_settings(used: int, compact_at: int) -> str:
    """Returns the notice that settings make a compaction due: `used` tokens reach `compact_at`."""
    return (
        f"By these settings the context ({short(used)}) is due for compaction, which begins at {short(compact_at)}. "
        "Compact it now, or it is compacted with the next message."
    )


def auto_compacting(used: int) -> str:
    """Returns the notice that an automatic compaction of `used` tokens begins."""
    return f"Compacting the context ({short(used)})…"


def compacted(messages: int, before: int, after: int) -> str:
    """Returns the notice that a compaction archived a number of `messages`, with the tokens before and after."""
    return f"Compacted {_messages(messages)}: {shrinking(before, after)}. Everything is kept; undo any time."


def cleared(what: str, before: int, after: int) -> str:
    """Returns the notice that an edit other than a compaction made room. `what` names the removed content (`old tool
    results`); `before` and `after` are tokens."""
    return f"Cleared {what}: {shrinking(before, after)}. Undo any time."


def cleared_again(count: int, last: str) -> str:
    """Returns one notice for `count` clearings during one answer. `last` is the notice of the last one."""
    return f"Room was made {count} times during this answer. {last}"


def repeated(files: Sequence[RepeatedFile], share: float) -> str:
    """Returns the notice about repeated file reads: the share of the context that they took (0 to 1), and the first
    three of `files` by name, which the caller sorts by cost."""
    named = [f"{file.path} {file.occurrences}× ({short(file.tokens_saved)})" for file in files[:_NAMED]]
    more = [f"{len(files) - _NAMED} more"] if len(files) > _NAMED else []
    return f"{round(100 * share)}% of the context was file contents shown again later: {', '.join([*named, *more])}."


def begun_again(agent: str, before: int, after: int) -> str:
    """Returns the notice that an agent could not open a conversation again, which therefore continues in a fresh
    session of it, with the tokens before and after."""
    return (
        f"{agent} could not open this conversation again. It continues in a fresh session that begins with a summary: "
        f"{shrinking(before, after)}. Everything is kept in the record."
    )


def continued_in(agent: str, tokens: int, *, whole: bool) -> str:
    """Returns the notice that a conversation continues in another agent, which is sent so many tokens of it."""
    what = "the whole conversation" if whole else "a summary"
    return f"This conversation continues in {agent}, which gets {what}: {short(tokens)} tokens. /undo goes back."


def refused_by(agent: str, reason: str) -> str:
    """Returns the notice that an agent has refused a prompt, before the one about the next agent."""
    return f"{agent} refuses: {reason}"


def about(title: str, text: str) -> str:
    """Returns a sentence with the title of the conversation that it is about, if that has one."""
    return f"“{title}”: {text}" if title else text


def follows(conversations: int) -> str:
    """Returns the answer to a command that follows the conversations of agents."""
    return f"Following {_count(conversations, 'conversation')} of agents."


def undone(before: int, after: int) -> str:
    """Returns the notice that an edit was undone, with the tokens before and after."""
    return f"Undone: {shrinking(before, after)}."


def nothing_to_compact(messages: int, used: int) -> str:
    """Returns the notice that none of the context's `messages` (`used` tokens) can be archived."""
    why = " The first and newest and pinned messages stay, and a summary of the others would be as long."
    return f"Nothing to compact: {_messages(messages)}, {short(used)} tokens.{why if messages else ''}"


def ranges(numbers: Sequence[int]) -> str:
    """Returns messages by their numbers, which must ascend: `#1, #210 to #308`."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1][1:] = [number]
        else:
            runs.append([number])
    return ", ".join(" to ".join(f"#{number:,}" for number in run) for run in runs)


def nothing_in_stretch(note: str) -> str:
    """Returns the notice that compacting the chosen stretch would save nothing. `note` is another sentence."""
    return f"Nothing to compact there: a summary would take as much room. {note}".strip()


def compaction_failed(reason: str) -> str:
    """Returns the notice that a compaction failed. `reason` is the end of its sentence."""
    return f"Compaction failed: {reason}"


def compaction_vetoed(reason: str) -> str:
    """Returns the notice that one of the user's hooks stopped a compaction. `reason` is a clause without a period."""
    return f"Not compacted: {reason}."


def hook_failed(hook: str, reason: str) -> str:
    """Returns the notice that a hook (such as `preCompact`) failed, and that the compaction continued without it."""
    return f"The {hook} hook failed and was passed over: {reason}."


def compaction_retried(what: str, reason: str) -> str:
    """Returns the notice that a summary could not be made, and that `what` is tried instead."""
    return f"Compaction failed: {reason.rstrip('.')}. Trying {what} instead."


def breaker_opened(reason: str, biggest: str, tokens: int) -> str:
    """Returns the notice that automatic compaction stops because it does not help. `reason` is the clause that says why
    (`failed 3 times in a row`); `biggest` names the largest item (`message 212`), and `tokens` is its size."""
    return (
        f"Automatic compaction stopped, it {reason}: {biggest} alone is {short(tokens)} tokens. "
        "It starts again after a compaction by hand, or once three answers in a row end below the warning."
    )


def cannot_fit(held: int, parts: Sequence[tuple[str, int]], usable: int) -> str:
    """Returns the notice that the context exceeds the window even after every edit that is allowed. `held` is the
    tokens that must stay; `parts` are words that name what they are, and the tokens of each, largest first."""
    return (
        f"The context cannot fit: what must stay is {short(held)} of {short(usable)} usable tokens{alone(parts)}. "
        "Make that smaller, or choose a model with a larger window."
    )


def alone(parts: Sequence[tuple[str, int]]) -> str:
    """Returns the parts of what must stay as the end of a sentence, largest first, as it takes them: `, the system
    prompt alone 12K, pinned message 3 1.2K`. Those of less than a tenth of the largest are left out."""
    named = [(name, tokens) for name, tokens in parts if tokens * 10 >= parts[0][1]]
    return "".join(f", {name}{' alone' * (i == 0)} {short(tokens)}" for i, (name, tokens) in enumerate(named))


def pinned_messages(numbers: Sequence[int]) -> str:
    """Returns words for ascending numbers: `pinned message 3`, `the pinned messages #3, #5 to #7`."""
    return f"pinned message {numbers[0]}" if len(numbers) == 1 else f"the pinned messages {ranges(numbers)}"


def offline_summary_used(reason: str, before: int, after: int) -> str:
    """Returns the notice that the offline summary was used because the model's failed. `reason` is a word or two;
    `before` and `after` are tokens of the context."""
    sizes = shrinking(before, after)
    return f"The model's summary failed ({reason.rstrip('.')}). Used the offline summary instead: {sizes}."


def waiting_for_provider(provider: str, reason: str, seconds: float) -> str:
    """Returns the notice that the provider is busy, and that the request is tried again in `seconds`."""
    return f"{provider} is busy ({reason}). Trying again in {seconds:.0f} s."


def no_model() -> str:
    """Returns the notice that no provider is configured, so that there is no model to chat with."""
    return (
        "No model is configured. Context tracking and offline compaction work; "
        "set ANTHROPIC_API_KEY or OPENAI_API_KEY, or the setting `provider`, to chat."
    )


def no_model_chosen() -> str:
    """Returns the notice that a key is there, but no session or setting names a model."""
    return (
        "No model is chosen. Context tracking and offline compaction work; "
        "choose one by the setting `model`, or give the program `--model NAME`, to chat."
    )


def not_indexed(records: int) -> str:
    """Returns the sentence that a search has not seen this many stored records, because the index is unfinished."""
    return f"{records:,} stored records are not indexed yet, so results may be missing; the next search sees more."


def words_alone(why: str) -> str:
    """Returns the sentence that a search's results are not ordered by embeddings, and why."""
    return f"Found by words alone, without embeddings: {why.rstrip('.')}."


def no_editor(model: str) -> str:
    """Returns the error text for a model of an editor, asked for where no editor offers models."""
    return (
        f"{model} is a model of an editor, which is not connected here; open the session there, or set another model."
    )


def how_to_give_key(variable: str, *, keyring: bool) -> str:
    """Returns the end of a sentence: how to provide the missing key, in the environment `variable` or in the system's
    keyring. `keyring` says whether the extra for the keyring is installed; if not, the text says how to install it."""
    before = "" if keyring else f"{how_to_install('keyring')} and "
    return f"set {variable}, or keep it in the system's keyring with {before}`ullage acp --login`."


def no_keyring_package(variable: str) -> str:
    """Returns the error text for a key that cannot be stored because Ullage's extra for the keyring is missing."""
    install = how_to_install("keyring")
    return f"Keeping a key needs the Python package keyring, which is not installed; run {install}, or set {variable}."


def no_keyring(variable: str, reason: str) -> str:
    """Returns the error of a key that no keyring can store. `reason` is what the keyring says of it."""
    said = " ".join(reason.split())
    return f"This system has no keyring that can be used ({said}). Set {variable} in the agent's environment instead."


def sdk_missing(provider: str, extra: str) -> str:
    """Returns the error of a provider without its Python package. `extra` is the package and the extra."""
    return package_missing(provider, extra, extra)


def package_missing(what: str, package: str, extra: str) -> str:
    """Returns the error text for something that needs a Python package, of an extra, that is not installed."""
    return f"{what} needs the Python package {package}, which is not installed; run {how_to_install(extra)}."


def mcp_missing(names: str, extra: str) -> str:
    """Returns the text for the user whose client's MCP servers `names` need Ullage's extra."""
    return f"These MCP servers are not used: {names}. That needs the Python package mcp; run {how_to_install(extra)}."


def mcp_failed(name: str, fault: str) -> str:
    """Returns the text for the user about an MCP server that could not be started, with the reason."""
    return f"The MCP server {name} is not used: {fault}."


def mcp_restarted(name: str) -> str:
    """Returns the text for the user about an MCP server that had ended and runs again."""
    return f"The MCP server {name} had ended and was started again."


def link_not_read(uri: str, fault: str) -> str:
    """Returns the text for the user about a file that a prompt links to and that was not read, with the reason."""
    return f"{uri} was not read: {fault}."


def documents_not_taken(provider: str, titles: Sequence[str]) -> str:
    """Returns the text for the user about documents of a prompt that the model's provider does not take."""
    return f"The model does not see the content of {', '.join(titles)}: {provider} takes no documents."


def blobs_not_taken(titles: Sequence[str]) -> str:
    """Returns the text for the user about contents of a prompt that no provider takes."""
    return f"The model does not see the content of {', '.join(titles)}: models take text, pictures and PDF documents."


def how_to_install(extra: str) -> str:
    """Returns the command that adds an extra's packages to this installation, in backticks. It names the packages:
    Ullage itself may be installed from a checkout, and an index may have none or another of its name."""
    if hasattr(sys, "frozen"):
        return f"`pipx install '.[{extra}]'` in a checkout of Ullage, in place of this program"
    packages = " ".join(_packages(extra))
    environment = PurePath(sys.prefix)
    if environment.parent.name == _PIPX:
        return f"`pipx inject {environment.name} {packages}`"
    if find_spec("pip") is None:
        # Made by uv, which puts no pip into an environment.
        return f"`uv pip install --python {sys.executable} {packages}`"
    return f"`{sys.executable} -m pip install {packages}`"


def _packages(extra: str) -> list[str]:
    """Returns the requirements of an extra, quoted for a shell: as the installed package states them, else by name."""
    # Takes longer to import than most commands run.
    from importlib.metadata import PackageNotFoundError, requires  # noqa: PLC0415

    try:
        stated = requires("ullage") or []
    except PackageNotFoundError:
        stated = []
    found = [one.partition(";") for one in stated]
    return [f"'{name.strip()}'" for name, _, marker in found if f"extra == '{extra}'" in marker] or [extra]


def _full(used: int, window: int) -> str:
    return f"Context {percent(used, window)}% full ({short(used)} of {short(window)})."


# Why an agent compacted, where neither the user nor the size of the context was the reason.
_CAUSES = {
    CompactionCause.IDLE: " because it idled",
    CompactionCause.PLUGIN: " because a plugin asked",
    CompactionCause.POST_TURN: " after a turn",
    CompactionCause.OVERFLOW: " after a request was refused as too long",
    CompactionCause.NEW_WINDOW: ": a new context began without a summary",
}


def idles(clock: str, setting: str) -> str:
    """Returns the words for a compaction that the agent will make at the time `clock`."""
    return f"compacts by itself at {clock} because it idles ({setting} in its settings stops that)"


_MISSES = {
    CacheMissCause.IDLE: "after a pause",
    CacheMissCause.COMPACTION: "after a compaction",
    CacheMissCause.MODEL: "because another model answered",
    CacheMissCause.MESSAGES: "because earlier messages were changed or left out",
    CacheMissCause.PREFIX: "because the prompt's beginning changed: system prompt, tools or settings",
}


# US dollars and tokens that no user does anything about.
_LITTLE, _FEW_TOKENS = 0.05, 1_000


def dollars(amount: float) -> str:
    """Returns an amount of US dollars in cents: `$1.90`, or `under $0.01`."""
    return f"${amount:,.2f}" if amount >= 0.005 or amount == 0 else "under $0.01"


# Milliseconds that a clock may be ahead of another one, or a report of the time at which it is shown.
_CLOCKS_DIFFER = 60_000


def warm(cache: PromptCache, now: int) -> str:
    """Returns how long the last prompt is still kept, in the fewest words: `warm 23 min`, or `cold`. A provider that
    promises nothing may keep it longer than it did before, so that nothing is said after that time; nor is it of a
    prompt that was sent in the future, by a clock that was wrong. `now` is Unix milliseconds."""
    left = cache.until - now
    if left > cache.keeps + _CLOCKS_DIFFER:
        return ""
    if left > 0:
        return f"warm {max(1, left // 60_000)} min"
    return "cold" if cache.source is CacheSource.PROMISED else ""


def next_prompt(cache: PromptCache, clock: str, now: int) -> str:
    """Returns until when the prompt is kept (`clock`) and what the next costs, unless little. `now`: Unix ms."""
    promised = cache.source is CacheSource.PROMISED
    if now < cache.until:
        kept, costs = f"warm {'' if promised else 'at least '}until {clock}", "{warm} until then, {cold} after it"
    else:
        kept, costs = "cold" if promised else "perhaps cold", "{cold} ({warm} while it is warm)"
    if cache.warm is None or cache.cold is None:
        return f"{kept}: {short(cache.tokens)} tokens"
    if cache.cold < _LITTLE:
        return kept
    return f"{kept}; the next prompt costs {costs.format(warm=dollars(cache.warm), cold=dollars(cache.cold))}"


def good_moment(moment: GoodMoment, used: int, cache: PromptCache | None, now: int) -> str:
    """Returns what a new session costs beside this one, and which work has ended. `now`: Unix milliseconds."""
    ended = f": “{moment.work}” is committed and nothing is open"
    begins = f"a new session begins with {short(moment.tokens)}"
    here = None if cache is None else cache.warm if now < cache.until else cache.cold
    if cache is None or moment.cost is None or here is None:
        return f"{begins} in place of {short(used)}{ended}"
    minutes = max(1, (cache.until - now) // 60_000)
    then = "" if cache.cold is None or now >= cache.until else f", in {minutes} min {dollars(cache.cold)}"
    costs = f"the next prompt costs {dollars(moment.cost)} there, {dollars(here)} here{then}"
    return f"{begins} in place of {short(used)}; {costs}{ended}"


def rate_limits(limits: Sequence[RateLimit], now: int) -> str:
    """Returns the used share of a subscription's limits, `5h 42%, 7d 80%`, or "". `now`: Unix milliseconds."""
    return ", ".join(f"{one.name} {one.percent}%" for one in limits if one.until is None or now < one.until)


def last_miss(miss: CacheMiss) -> str:
    """Returns why the last request that found nothing in the cache did so; "" if it paid for few tokens again."""
    if miss.tokens < _FEW_TOKENS:
        return ""
    return f"{short(miss.tokens)} tokens were last paid in full again {_MISSES[miss.cause]}"


def edited(edit: Edit) -> str:
    """Returns what an edit did in a few words, for the list of a session's edits: `Compacted 44 messages`."""
    match edit:
        case CompactionEdit():
            done = f"Compacted {_messages(compaction_block(edit).messages_archived)}{_CAUSES.get(edit.cause, '')}"
        case DropEdit(notice=Message(role=Role.SYSTEM)):
            done = "Exchanged the system prompt"
        case DropEdit(message_ids=ids):
            done = f"Left out {_messages(len(ids))}"
        case RewindEdit(message_ids=ids):
            done = f"Went back before {_messages(len(ids))}"
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


def store_offline(server: str, sessions: int) -> str:
    """Returns the notice that the server of the store is away, and that the copy here has so many sessions."""
    return (
        f"{server} can't be reached. Ullage goes on with the copy on this machine, which has "
        f"{_count(sessions, 'session')}. What is added is sent when the server is back."
    )


def store_away(server: str) -> str:
    """Returns the end of a sentence about something that is not in the copy of a store here."""
    return f"{server} can't be reached, and the copy on this machine doesn't have it"


def store_caught_up(server: str, records: int, sessions: int, continued: Sequence[str]) -> str:
    """Returns the notice that the store's server is back. `continued` were deleted here, continued elsewhere."""
    sent = f"{_count(records, 'record')} of {_count(sessions, 'session')} sent" if records else "Nothing had to be sent"
    text = f"{server} is back. {sent}."
    if continued:
        text += f" Deleted here but continued on another machine, and so still there: {', '.join(continued)}."
    return text


def store_forked(session_id: str, fork_id: str) -> str:
    """Returns the notice that another machine has continued, or deleted, a session that was continued here, too."""
    return (
        f"Another machine has changed session {session_id} meanwhile. What was added here is in session {fork_id}; "
        "nothing is lost."
    )


def _messages(count: int) -> str:
    return _count(count, "message")


def _count(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def context_line(used: int, size: int | None, source: UsageSource) -> str:
    """Returns `Context: 45% (58K/128K tokens, reported)`. Without a window (`size` None) without a percentage."""
    if size is None:
        return f"Context: {short(used)} tokens, limit unknown ({source.value})"
    return f"Context: {percent(used, size)}% ({short(used)}/{short(size)} tokens, {source.value})"
