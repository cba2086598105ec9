"""Where Claude Code compacts: the windows of its models, its settings, its thresholds, and what it attaches again.

Each window was asked of the program with `/context`, which needs no model. A name that ends in `[1m]` means a million
tokens in every version. Without it, 2.1.197 to 2.1.283 gave every model that was tried 200,000 tokens, and 2.1.291 to
2.1.332 a million to all but older models. If no setting names a model, 2.1.197 asks for its default as
`claude-opus-4-8[1m]`, which its log does not show.

The thresholds were measured on the `preTokens` of 73 recorded automatic compactions in windows of 200,000 tokens:
155,000 in 2.0.76 to 2.1.20 (42) and 167,000 in 2.1.25 to 2.1.42 (31); in 2.1.22 conversations continued beyond 155,000.
By trial, 2.1.197 compacts only two models by itself, and others if the user names a window; 2.1.316 to 2.1.332 compact
each model again that has a million tokens without `[1m]`, and each that they do not know. The one compaction of 1.0.53
was at 154,566 after a call with 153,818.

What is attached again was measured with 2.1.316 in one process: of the files that were read or changed since the last
compaction, the five last changed on the disk, whole if they have at most 5,000 tokens, else their names. A process that
resumed a session attaches none that an earlier one has read, and the log does not say which. In 2.0.76 to 2.1.42, whose
logs lack them, 24 next prompts of 34,000 to 73,000 tokens held, at the median, 1,100 tokens more than the same rule
says of the five that were last read or changed. A file that was shown only in part has at least as many lines as
the number of the last one.
"""

import re
from collections.abc import Mapping, Sequence
from functools import reduce
from itertools import chain
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ullage.agents.claude_code.entries import IDLES_FOR, Entry
from ullage.agents.file_reads import file_lines
from ullage.agents.machine import Machine
from ullage.agents.own_context import (
    FileAgain,
    Idle,
    OwnContext,
    OwnSettings,
    Reading,
    Reattached,
    Rule,
    Setup,
    Threshold,
    Without,
    number,
    switch,
    switched_off,
    version_of,
)
from ullage.agents.tools import CONTENT_KEYS, Action, action_of, path_of, text_of
from ullage.formats.transcripts.builder import TranscriptBuilder
from ullage.formats.transcripts.chat import read_blocks
from ullage.model.expressions import expression
from ullage.model.json_values import JsonObject, as_object, as_text
from ullage.model.message import Message, ToolResultBlock, ToolUseBlock, join_texts
from ullage.tokens.families import bare_name

USUAL, MILLION = 200_000, 1_000_000
_CHOSEN = "[1m]"
# From a version between 2.1.318 and this one on, a model that the program does not know has a million, too.
_MILLION_ASSUMED = (2, 1, 325)
_MILLION_BY_ITSELF = (2, 1, 291)
# The default model of the versions from this one on, which has a million tokens unless a setting names it.
_BY_DEFAULT, _DEFAULT = (2, 1, 197), "claude-opus-4-8"
# Models to which these versions, too, give 200,000 tokens.
_OLDER = expression(r"claude-(3|(sonnet|haiku)-[34]\b|opus-(3|4$|4-20|4-[0156]\b))")
_OWN_MODEL = expression("claude|opus|sonnet|haiku|fable")
# What `/context` prints as Markdown, for example `**Tokens:** 13.3k / 1m (1%)`. Only these windows are not rounded.
_TOLD = expression(r"\*\*Tokens:\*\* \S+ / (200k|1m) \(")
_SIZES = {"200k": USUAL, "1m": MILLION}


def usual_window(setup: Setup) -> Rule:
    """Returns the window that Claude Code gives a model if its user chooses none."""
    if _CHOSEN in setup.model:
        return Rule(tokens=MILLION, basis="the model's name ends in [1m]")
    if _is_newer(setup.model) and version_of(setup.version) >= _MILLION_BY_ITSELF:
        return Rule(tokens=MILLION, basis=f"Claude Code {setup.version} gives {setup.model} a million tokens")
    if _is_unknown(setup.model) and version_of(setup.version) >= _MILLION_ASSUMED:
        assumed = f"Claude Code {setup.version} does not know {setup.model}, and assumes a million tokens"
        return Rule(tokens=MILLION, basis=assumed)
    named = setup.given.model or ""
    if _CHOSEN in named and bare_name(named) in setup.model:
        return Rule(tokens=MILLION, basis=f"the settings name {named}")
    is_default = setup.given.model == "" and bare_name(setup.model) == _DEFAULT
    if is_default and version_of(setup.version) >= _BY_DEFAULT:
        return Rule(tokens=MILLION, basis=f"no setting names a model, and the default of {setup.version} has a million")
    return Rule(tokens=USUAL, basis="Claude Code's window unless a larger one is chosen")


def _is_newer(model: str) -> bool:
    """Returns whether this is one of Claude's models with a million tokens without `[1m]`."""
    return "claude-" in model and not _OLDER.search(model)


def _is_unknown(model: str) -> bool:
    """Returns whether this is a model that the program does not know."""
    return bool(model) and not _OWN_MODEL.search(model)


class WindowReader:
    """Reads from a log's lines which window the agent says that it has. Versions before 2.1.316 only say it with
    `/context`."""

    def __init__(self, builder: TranscriptBuilder) -> None:
        self._builder = builder
        self._is_chosen = False

    def read_answer(self, requested: str, timestamp: int) -> None:
        """Reads the name of the model that was asked for an answer, which the builder has. Unlike the answer's own
        model it ends in `[1m]` if a million tokens were chosen. Versions that don't write it have ""."""
        if not requested:
            return
        was_chosen, self._is_chosen = self._is_chosen, _CHOSEN in requested
        if self._is_chosen or was_chosen:
            window = usual_window(Setup(version=self._builder.version, model=requested))
            self._builder.window(window.tokens, timestamp=timestamp)

    def read_prompt(self, entry: Entry) -> None:
        """Reads a line of the user's role, which may be the output of `/context`."""
        if entry.value.get("isMeta") is not True:
            return
        told = _TOLD.search(join_texts(read_blocks(entry.content)))
        if told:
            self._builder.window(_SIZES[told[1]], timestamp=entry.timestamp)


_OFF = ("DISABLE_AUTO_COMPACT", "DISABLE_COMPACT")
_PERCENT = "CLAUDE_AUTOCOMPACT_PCT_OVERRIDE"
_WINDOW = "CLAUDE_CODE_AUTO_COMPACT_WINDOW"
_IDLE = "CLAUDE_CODE_IDLE_COMPACT_MIN_TOKENS"
_OUTPUT = "CLAUDE_CODE_MAX_OUTPUT_TOKENS"
# The window of a model that the program does not know; without compaction, that of every model.
_CONTEXT, _NO_MILLION = "CLAUDE_CODE_MAX_CONTEXT_TOKENS", "CLAUDE_CODE_DISABLE_1M_CONTEXT"
# Lets such a model's context grow until its provider refuses a request.
_NOT_WITHIN = "CLAUDE_CODE_DISABLE_UNKNOWN_MODEL_WINDOW_ENFORCEMENT"
# Windows that the program's server sets, by model, as they are cached in the program's state (2.1.332).
_CACHED = "cachedGrowthBookFeatures"
_SERVED = {
    "claude-opus-4-8": ("tengu_amber_redwood2", "tengu_amber_redwood3"),
    "claude-opus-5-5": ("tengu_jaunty_breeze",),
}
_THOUSANDS = expression(r"(\d+)k", re.IGNORECASE)
_SIZE, _OWN_SIZE = "autoCompactWindow", "modelSettings.{}.autoCompactWindow"


def _files(machine: Machine) -> tuple[str, ...]:
    own = machine.folder("CLAUDE_CONFIG_DIR", ".claude")
    # The program's own state, which `/config` writes, is next to the folder unless that is named.
    state = f"{own}/.claude.json" if machine.variables.get("CLAUDE_CONFIG_DIR") else f"{machine.home}/.claude.json"
    project = machine.in_project(".claude/settings.json", ".claude/settings.local.json")
    return (state, f"{own}/settings.json", *project)


def _definitions(machine: Machine, name: str) -> tuple[str, ...]:
    own = machine.folder("CLAUDE_CONFIG_DIR", ".claude")
    return (f"{own}/agents/{name}.md", *machine.in_project(f".claude/agents/{name}.md"))


def _read(reading: Reading) -> None:
    _take_variables(reading, reading.variables)
    model = bare_name(reading.model)
    named = [as_text(file.get("model")) for file in reading.files]
    all_environments = (reading.variables, *(as_object(file.get("env")) for file in reading.files))
    named += [as_text(variables.get("ANTHROPIC_MODEL")) for variables in all_environments]
    reading.named = next((name for name in reversed(named) if name not in ("", "default")), "")
    for file in reading.files:
        if isinstance(enabled := file.get("autoCompactEnabled"), bool):
            reading.take("automatic", "autoCompactEnabled", enabled)
        reading.switch("idle", "idleCompaction", file.get("idleCompaction"))
        _take_window(reading, file, model)
        _take_variables(reading, as_object(file.get("env")))
    # The variable comes before all files, wherever it is set (2.1.318).
    for variables in all_environments:
        reading.number("window", _WINDOW, variables.get(_WINDOW))
        reading.number("idle_least", _IDLE, variables.get(_IDLE))
    for file in reading.files:
        _take_served(reading, file, model)
    # A sub-agent's definition only lowers the window that it has otherwise (2.1.332).
    own, inherited = number(reading.definition.get(_SIZE)), reading.given().window
    if own and (inherited is None or own < inherited):
        reading.take("window", f"{_SIZE} of the sub-agent", own)
    _take_model_window(reading, dict(chain.from_iterable(each.items() for each in all_environments)), model)


def _take_model_window(reading: Reading, variables: Mapping[str, Any], model: str) -> None:
    if switch(variables.get(_NO_MILLION)):
        reading.take("model_window", _NO_MILLION, USUAL, f"{_NO_MILLION}={variables[_NO_MILLION]}")
    if not _OWN_MODEL.search(model) and switch(variables.get(_NOT_WITHIN)):
        reading.unknown = _NOT_WITHIN
    if not _OWN_MODEL.search(model) or switch(variables.get("DISABLE_COMPACT")):
        reading.size("model_window", _CONTEXT, variables.get(_CONTEXT))


def _take_served(reading: Reading, state: JsonObject, model: str) -> None:
    """Takes the window that the server sets for a model, which comes after all settings."""
    cached = as_object(state.get(_CACHED))
    for name in _SERVED.get(model, ()):
        said = cached.get(name)
        thousands = _THOUSANDS.fullmatch(as_text(said))
        tokens = int(thousands[1]) * 1_000 if thousands else number(said)
        if tokens and reading.given().window is None:
            reading.take("window", f"{_CACHED}.{name}", tokens)


def _take_window(reading: Reading, file: JsonObject, model: str) -> None:
    """Takes the window of a settings file. Within one file, that of the model comes before that of all models, and a
    later file comes before an earlier one (2.1.318). `/autocompact` writes that of the model; `"auto"` means none."""
    by_model = as_object(file.get("modelSettings"))
    own = {bare_name(name): as_object(said).get(_SIZE) for name, said in by_model.items()}
    said, name = file.get(_SIZE), _SIZE
    if own.get(model) is not None:
        said, name = own[model], _OWN_SIZE.format(model)
    if said == "auto":
        reading.drop("window")
    reading.number("window", name, said)


def _take_variables(reading: Reading, variables: Mapping[str, Any]) -> None:
    for name in _OFF:
        if switch(variables.get(name)):
            reading.take("automatic", name, False, f"{name}={variables[name]}")
    percent = number(variables.get(_PERCENT))
    if percent:
        reading.take("share", _PERCENT, percent / 100, f"{_PERCENT}={percent:g}")
    reading.size("max_output", _OUTPUT, variables.get(_OUTPUT))


_KNOWN = frozenset(
    {
        *(*_OFF, _PERCENT, _WINDOW, _SIZE, "autoCompactEnabled"),
        # How the user answered an offer, and compactions for other causes than the threshold.
        *("autoCompactOfferAnswer", "idleCompaction", "precomputeCompactionEnabled"),
        _IDLE,
    }
)
SETTINGS = OwnSettings(
    files=_files, definitions=_definitions, read=_read, known=_KNOWN, prefix="CLAUDE", programs_own=1
)

_FIRST_MEASURED = (1, 0, 53)
# Up to a version before this one the threshold was a share of the window less the answer.
_NO_SHARE, _SHARE = (2, 0, 76), 0.92
# From this version on less is kept free for the answer.
_LESS_RESERVE = (2, 1, 22)
_OLD_RESERVE, _RESERVE = 32_000, 20_000
# Kept free besides the answer.
_BUFFER = 13_000
# From a version between 2.1.42 and this one on, most models are compacted only after the provider refused a request.
_FEW_MODELS = (2, 1, 197)
_COMPACTED = expression(r"(opus|sonnet)-4-6")
_NOT_COMPACTED = expression(r"opus-4-[1578]|sonnet-4-5|haiku-4-5|fable-5(?!-)")
# From a version up to this one on, newer models are compacted again, in their window of a million; and models that the
# program does not know within the window that it assumes, whatever they are said to answer.
_MORE_MODELS = (2, 1, 316)
# From a version between 2.1.286 and this one on, a conversation that idles is compacted, from these sizes on.
_IDLES = (2, 1, 299)
_IDLE_USUAL, _IDLE_LEAST = 200_000, 100_000
# How a program was started that a person may come back to, as the log names it (2.1.332): in a terminal, an editor, the
# desktop or a chat. What another program started is not compacted while it idles.
_ATTENDED = {
    *("", "cli", "claude-vscode", "claude-desktop", "claude-desktop-3p", "claude-coworker", "claude-coworker-terminal"),
    *("local-agent", "local_agent", "claude-in-slack", "claude_in_slack", "claude-in-teams", "ssh-remote", "remote"),
    *("remote_cowork", "remote_desktop", "remote_mobile", "remote_projects"),
}
# A smaller window in the settings counts as this one.
_SMALLEST = 100_000


def _threshold(setup: Setup) -> Threshold:
    version, given = version_of(setup.version), setup.given
    if not version or version < _FIRST_MEASURED:
        return None
    if given.automatic is False:
        return switched_off(given)
    if given.window is not None:
        window = max(_SMALLEST, min(given.window, setup.window))
        return _within(setup, window, f"{given.name('window')}: it", given.name("window"))
    is_compacted = version >= _MORE_MODELS and _is_newer(setup.model)
    if version >= _MORE_MODELS and _is_unknown(setup.model) and _CHOSEN not in setup.model:
        setup, is_compacted = replace(setup, max_output=None), True
    if version >= _FEW_MODELS and not is_compacted:
        if _NOT_COMPACTED.search(setup.model) or setup.window > USUAL or "[1m]" in setup.model:
            return _none(setup)
        if not _COMPACTED.search(setup.model):
            return None
    return _within(setup, setup.window, f"Claude Code {setup.version}")


def _none(setup: Setup) -> Without:
    """Returns that this model is not compacted in this version. A percentage in the settings changes nothing then."""
    basis = (
        f"Claude Code {setup.version} compacts {setup.model or 'this model'} only after the provider has refused a "
        "request as too long"
    )
    return Without(basis=basis, ignored=setup.given.name("share"))


def _within(setup: Setup, window: int, what: str, setting: str = "") -> Rule | None:
    """Returns the threshold within this window. A percentage in the settings can only lower it."""
    given, version = setup.given, version_of(setup.version)
    reserve = _RESERVE if version >= _LESS_RESERVE else _OLD_RESERVE
    answer = min(reserve, given.max_output or setup.max_output or reserve)
    tokens = window - answer - _BUFFER
    basis = f"{what} keeps {answer + _BUFFER:,} tokens free, {answer:,} of them for the answer"
    if version < _NO_SHARE:
        shared = int((window - _OLD_RESERVE) * _SHARE)
        old = f"Claude Code 1.0.53 compacted at {_SHARE:.0%} of {window - _OLD_RESERVE:,} tokens"
        return Rule(tokens=shared, basis=old) if shared > 0 else None
    if tokens <= 0:
        return None
    if given.share is None:
        return Rule(tokens=tokens, basis=basis, setting=setting)
    shared = int((window - reserve) * given.share)
    if shared < tokens:
        lower = f"{given.name('share')}, of {window - reserve:,} tokens"
        return Rule(tokens=max(1, shared), basis=lower, setting=given.name("share"))
    return Rule(tokens=tokens, basis=basis, setting=setting, ignored=given.name("share"))


def _idle(setup: Setup) -> Idle | None:
    """Returns when a conversation that idles is compacted: after nine tenths of the hour for which its prompt is cached
    (2.1.332). In an editor it writes the summary then, and uses it with the next prompt."""
    given = setup.given
    if version_of(setup.version) < _IDLES or given.automatic is False or given.idle is False:
        return None
    if setup.started_by not in _ATTENDED:
        return None
    return Idle(
        after=IDLES_FOR,
        least=max(_IDLE_LEAST, _IDLE_USUAL if given.idle_least is None else given.idle_least),
        setting='"idleCompaction": false',
    )


_FILES, _MOST = 5, 5_000
_FIRST, _LAST = (2, 0, 76), (2, 1, 42)
# Files of instructions are in each prompt anyway.
_MEMORY = expression(r"(?:^|[/\\])CLAUDE(?:\.local)?\.md$|[/\\]\.claude[/\\]rules[/\\]")
# Inputs of a call that reads a part.
_PARTLY = {"offset", "limit"}
_TOUCHING = (Action.READ, Action.WRITE, Action.EDIT)


def reattached(setup: Setup, context: Sequence[Message]) -> Reattached | None:
    """Returns the files that Claude Code adds to the context again after a compaction. `context` is the
    messages before it. Returns None for versions for which it is not known."""
    if not _FIRST <= version_of(setup.version) <= _LAST:
        return None
    return Reattached(files=tuple(_last_files(context)), most=_MOST)


class _Views(Struct, frozen=True, kw_only=True):
    """What calls have shown of a file: the most of its text that one has, as it was shown and without numbers of lines,
    the last line that any has shown, and how many have shown a part. `is_whole` says that the text is all of it."""

    shown: str = ""
    plain: str = ""
    lines: int = 0
    last: int = 0
    parts: int = 0
    is_whole: bool = False

    def file(self) -> FileAgain:
        """Returns the file with its size. Of n places anywhere in a file, the last lies at n/(n+1) of its length."""
        times = 1.0 if self.is_whole or not self.lines else self.last / self.lines
        more = 1.0 if self.is_whole else 1 + 1 / max(self.parts, 1)
        return FileAgain(shown=self.shown, plain=self.plain, times=times, more=more)


def _last_files(context: Sequence[Message]) -> list[FileAgain]:
    """Returns the context's five files that were last changed on the disk, the last one last: those that were only read
    are older than those that the conversation changed."""
    calls: dict[str, ToolUseBlock] = {}
    files: dict[str, list[tuple[ToolUseBlock, ToolResultBlock]]] = {}
    changed: dict[str, int] = {}
    for place, message in enumerate(context):
        for block in message.content:
            if isinstance(block, ToolUseBlock) and action_of(block.name, block.input) in _TOUCHING:
                calls[block.id] = block
            elif isinstance(block, ToolResultBlock) and (call := calls.get(block.tool_use_id)):
                path = path_of(call.input)
                files[path] = [*files.pop(path, []), (call, block)]
                if action_of(call.name, call.input) is not Action.READ:
                    changed[path] = place
    paths = sorted((path for path in files if not _MEMORY.search(path)), key=lambda path: changed.get(path, -1))
    return [reduce(_seen, files[path], _Views()).file() for path in paths[-_FILES:]]


def _seen(before: _Views, shown: tuple[ToolUseBlock, ToolResultBlock]) -> _Views:
    """Returns what is known of a file after another call that reads or changes it."""
    call, result = shown[0], join_texts(shown[1].content)
    action, written = action_of(call.name, call.input), text_of(call.input, CONTENT_KEYS)
    if action is Action.WRITE and written:
        return _Views(shown=written, plain=written, is_whole=True)
    lines = [line for line in file_lines(result) if line.number]
    if not lines:
        return before
    plain, last = "\n".join(line.text for line in lines), max(line.number or 0 for line in lines)
    if action is Action.READ and last == len(lines) and not call.input.keys() & _PARTLY:
        return _Views(shown=result, plain=plain, is_whole=True)
    if before.is_whole:
        return before
    larger = replace(before, shown=result, plain=plain, lines=len(lines)) if len(plain) > len(before.plain) else before
    return replace(larger, last=max(before.last, last), parts=before.parts + 1)


OWN_CONTEXT = OwnContext(
    window=usual_window, wider=(MILLION,), threshold=_threshold, is_exact=True, idle=_idle, reattached=reattached
)
