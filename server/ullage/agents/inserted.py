"""Separates the text that agents insert into the user's messages from the text that the user typed.

A text may come from any of the programs below, whichever agent has the conversation.
"""

import re
from collections.abc import Sequence
from functools import cache

from msgspec import Struct
from msgspec.structs import replace

from ullage.agents.results import is_output
from ullage.model.json_values import as_text
from ullage.model.message import Block, Message, Provided, ResourceBlock, Role, TextBlock, ToolResultBlock

# Characters. A longer text in tags is not recognised; the bound keeps the search fast on large messages.
_LONGEST = 20_000
# Between these Gemini CLI and Qwen Code send the files that were named by `@`, each in parts of its own.
_FILES, _END_OF_FILES = "--- Content from referenced files ---", "--- End of content ---"
# Before what the user said of a plan that Claude Code carries out in a new context; it comes after what is appended.
_OF_PLAN = "\n\nUser feedback on this plan: "
# The format of the mark of a message that an agent's program or extension wrote, which no provider has.
_BY_PROGRAM = "program"
# A command of Claude Code that the user typed and that is a prompt. One that only its program runs has its name first.
_COMMAND = re.compile(
    r"<command-message>[^<]{0,200}</command-message>\s{0,40}<command-name>(/[^<]{1,200})</command-name>"
    rf"(?:\s{{0,40}}<command-args>(.{{0,{_LONGEST}}}?)</command-args>)?",
    re.DOTALL,
)


class Inserted(Struct, frozen=True, kw_only=True):
    """What a program inserts into the user's messages. Tags and patterns are regular expressions.

    - `summary_openings`: the first words of the message with which an agent continues after its own compaction.
    - `not_typed`: patterns for the beginning of a text that the user has not typed.
    - `appended`: the words with which a line begins that is put after what the user typed, up to the end of the text.
    - `tags`: names of tags around inserted text.
    - `typed_tags`: names of tags around what the user typed.
    - `frames`: patterns for a whole text that has what the user typed as its only group.
    """

    summary_openings: tuple[str, ...] = ()
    not_typed: tuple[str, ...] = ()
    appended: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    typed_tags: tuple[str, ...] = ()
    frames: tuple[str, ...] = ()


# What Claude Code inserts into the user's messages: reminders, its own commands and their output, an IDE's selection.
CLAUDE_CODE = Inserted(
    summary_openings=("This session is being continued from a previous conversation",),
    not_typed=(
        r"<(?:local-command|command-(?:name|message|args)|(?:task|agent)-notification|ide_\w+|bash-|system-reminder)",
        # What other agents, servers, hooks and chats send, and what is given to a fork.
        r"<(?:agent|teammate|cross-session|slack-tag)-message|<(?:slack-ping|tick|coordinator-relay|remote-review)\b",
        r"<(?:fetched-web-content|untrusted-widget-state|mcp-(?:resource|polling)-update|browser_instruction)\b",
        r"<(?:(?:post-tool-use|user-prompt-submit)-hook|fork-boilerplate)\b",
        r"\[Request interrupted",
        r"Caveat: The messages below were generated",
        # The text of a skill, which Claude Code sends as a message of its own.
        r"Base directory for this skill: ",
        r"(?:[A-Z]\w+ hook feedback|Operation stopped by hook):",
        # What was typed to compact by hand, as 2.1.318 writes it before it compacts.
        r"/compact(?:\s[^\n]*)?\s*\Z",
        # The answer to `/context` where there is no terminal.
        r"## Context Usage\s+\*\*Model:",
    ),
    # After a plan that the user approved to be carried out in a new context.
    appended=("If you need specific details from before exiting plan mode",),
    tags=(r"ide_\w+", "system-reminder"),
    # What was typed after `#` to be remembered.
    typed_tags=("user-memory-input",),
)
CODEX = Inserted(
    summary_openings=("Another language model started to solve this problem and produced a summary",),
    not_typed=(
        r"# AGENTS\.md instructions for ",
        # Sent for `/init`.
        r"Generate a file named AGENTS\.md that serves as a contributor guide for this repository\.\n",
        # Around a picture.
        r"(?:<image name=\[Image #\d+\][^<>]{0,400}>|</image>)\s*(?:</image>\s*)?\Z",
    ),
    # What the extensions for editors and the app put before a request: open files, what is selected, what is attached.
    frames=(r"\s*# [^\n]{1,80}:\n(?:.*?\n)?## My request for Codex:\s*(.*)",),
    tags=(
        *("environment_context", "turn_aborted", "user_shell_command", "skill", "subagent_notification", "user_action"),
        *("hook_prompt", "goal_context", "user_instructions", "INSTRUCTIONS", "agent_message_board_notification"),
        *("image_resize_notice", "recommended_plugins", "user_verification_notice"),
    ),
    # What the user answered a question that the model asked in a message.
    typed_tags=("send_user_message_question_reply",),
)
PI_COMPACTED = "The conversation history before this point was compacted into the following summary:"
PI_CAME_BACK = "The following is a summary of a branch that this conversation came back from:"
# In place of a message that pi sends no more.
PI_LEFT_OUT = "[pi left a message out of the context here.]"
# Commands of pi. It runs them without a message; one that was sent before it was complete is a message of the log.
_PI_COMMANDS = "changelog clear compact copy export fork hotkeys login model name new queue resume session theme tree"
_PI_BEGINNINGS = "|".join(name[:end] for name in _PI_COMMANDS.split() for end in range(1, len(name)))
_PI = Inserted(
    summary_openings=(PI_COMPACTED, PI_CAME_BACK),
    not_typed=(
        r"Ran `[^`]{1,4000}`\n(?:```\n|\(no output\))",
        re.escape(PI_LEFT_OUT),
        rf"/(?:{_PI_BEGINNINGS})?\s*\Z",
    ),
)
# How a summary of Hermes Agent begins, now and in older versions.
HERMES_COMPACTED = ("[CONTEXT COMPACTION", "[CONTEXT SUMMARY]:")
_AGAIN = "The previous session was interrupted because it got too long, the initial user request was: "
_INSERTED = (
    CLAUDE_CODE,
    CODEX,
    _PI,
    # Antigravity
    Inserted(
        not_typed=(r"The following is a <SYSTEM_MESSAGE> not actually sent by the user",),
        tags=("USER_SETTINGS_CHANGE",),
        typed_tags=("USER_REQUEST",),
    ),
    # Cline, Roo Code and Kilo Code
    Inserted(
        tags=("environment_details", "hook_context", "mode_notice"),
        typed_tags=("user_input",),
        frames=(
            r"\s*<(?:task|user_message)>(.*)</(?:task|user_message)>\s*(?:<environment_details>.*)?",
            r"\s*The user (?:has )?provided (?:the following )?feedback[^\n]*\n<feedback>\n(.*)\n</feedback>\s*",
        ),
    ),
    # Crush, which sends a prompt again after it has compacted while it answered that, and may do so again and again
    Inserted(frames=tuple(f"(?:{_AGAIN}`){{{times}}}(.*)`{{{times}}}" for times in (4, 3, 2, 1))),
    # Copilot CLI
    Inserted(tags=("current_datetime", "system_reminder")),
    # Cursor
    Inserted(
        tags=("user_info",),
        frames=(r"\s*(?>(?:<[a-z_]{1,40}>.*?)?<user_query>)(.*?)</user_query>.*",),
    ),
    # Gemini CLI and Qwen Code
    Inserted(
        not_typed=(
            r"This is the (?:Gemini CLI|Qwen Code)\. We are setting up the context for our chat",
            r"Here is (?:a summary of changes in )?the user's editor context\b",
            r"Background execution update:\n<background_output>",
            # After a command that the user ran; and sent for `/init`.
            r"I ran the following shell command:\n```sh\n",
            r"You are an AI agent that brings the power of Gemini directly into the terminal\. Your task is to analyze",
            r"You are Qwen Code, an interactive CLI agent\. Analyze the current directory and generate ",
        ),
        appended=(_FILES,),
        # What the user says while the model works (0.61).
        frames=(r"\s*User (?:hints|steering update):\n<user_input>\n(.*)\n</user_input>\n+Internal instruction: .*",),
        tags=("session_context", "hook_context"),
    ),
    # goose
    Inserted(tags=("info-msg",)),
    # Hermes Agent
    Inserted(
        summary_openings=HERMES_COMPACTED,
        not_typed=(
            r"\[(?:System: |Your active task list was preserved|ASYNC DELEGATION |USER INITIATED SKILLS RELOAD:)",
            # What ends in the background, a skill without words, a job that is due, a server that was read again.
            r"\[IMPORTANT: (?:Background process \w|The user (?:has invoked|launched this)|You are running as a"
            r" scheduled|MCP servers have)",
        ),
        frames=(
            r"\s*\[IMPORTANT: The user has invoked .*\nThe user has provided the following instruction alongside the"
            r" skill invocation: (.*)",
        ),
    ),
    # Kimi Code
    Inserted(tags=("git-context", "system-reminder")),
    # opencode
    Inserted(
        # In the user's place after its own compaction.
        not_typed=(r"Continue if you have next steps, or stop and ask for clarification if you",),
        # Sent for `/init` and `/review`, with what was typed after them.
        frames=(
            r"Create or update `AGENTS\.md` for this repository\.\n.*?"
            r"\nUser-provided focus or constraints \(honor these\):\n(.*?)\n+## How to investigate\n.*",
            r"You are a code reviewer\. Your job is to review code changes and provide actionable feedback\.\n+---\n+"
            r"Input: (.*?)\n+---\n.*",
        ),
    ),
    # Qwen Code
    Inserted(
        not_typed=(r"<qwen:user-prompt-submit-context>",),
        tags=("qwen:user-prompt-submit-context", "plan-mode-active"),
        # What the user says while the model works.
        frames=(
            r"\s*\[(?:User message received during tool execution\]:|The user sent a new message [^]\n]*\])\s*(.*)",
        ),
    ),
    # OpenHands, for a model without tool calls
    Inserted(
        frames=(
            r"Here's a running example of how to perform a task with the provided tools\..*?"
            r"-{9,} NEW TASK DESCRIPTION -+\n(.*?)\n-{9,} END OF NEW TASK DESCRIPTION -.*",
        ),
    ),
    # What programs that run an agent without a user answer in the user's place: mini-swe-agent if a message has not
    # exactly one command or no call, trae-agent if it has no call or nothing was changed, and OpenHands for a model
    # without tool calls.
    Inserted(
        not_typed=(
            r"Please always provide EXACTLY ONE action in triple backticks",
            r"Please continue with the next step, or if the task is complete or you need clarification, use the ",
            r"Tool call error:\s+<error>",
            r"ERROR! Your Patch is empty\.",
            r"EXECUTION RESULT of \[",
        )
    ),
)


class _Patterns(Struct, frozen=True, kw_only=True):
    summary_openings: tuple[str, ...]
    not_typed: re.Pattern[str]
    appended: re.Pattern[str]
    tagged: re.Pattern[str]
    typed: re.Pattern[str]
    frames: tuple[re.Pattern[str], ...]


@cache
def _patterns() -> _Patterns:
    not_typed = "|".join(pattern for one in _INSERTED for pattern in one.not_typed)
    appended = "|".join(re.escape(words) for one in _INSERTED for words in one.appended)
    tags = "|".join(tag for one in _INSERTED for tag in one.tags)
    typed_tags = "|".join(tag for one in _INSERTED for tag in one.typed_tags)
    return _Patterns(
        summary_openings=tuple(opening for one in _INSERTED for opening in one.summary_openings),
        not_typed=re.compile(rf"\s*(?:{not_typed})"),
        appended=re.compile(rf"\n[^\S\n]*+(?:{appended})"),
        # After a word and a space, in the middle of a sentence, the user typed it. A search for `<` alone is fast.
        tagged=re.compile(rf"<(?<!\S <)({tags})(?: [^<>]{{0,400}})?>.{{0,{_LONGEST}}}?</\1>", re.DOTALL),
        typed=re.compile(rf"</?(?:{typed_tags})(?: [^<>]{{0,200}})?>"),
        frames=tuple(re.compile(frame, re.DOTALL) for one in _INSERTED for frame in one.frames),
    )


def is_summary(text: str) -> bool:
    """Returns whether a user message's text begins as the summary with which an agent continues after its own
    compaction."""
    return text.startswith(_patterns().summary_openings)


def is_typed(text: str) -> bool:
    """Returns whether the user may have typed this text: False if it begins as a text that an agent inserts."""
    return _patterns().not_typed.match(text) is None


def without_inserted(text: str) -> str:
    """Returns the text without the tags, and the text in them, that agents and editors insert into a user's message,
    and without what an agent appends to it. Of tags around what the user typed, only the tags are left out; a command
    of the agent is as the user typed it."""
    patterns = _patterns()
    framed = next((found for frame in patterns.frames if (found := frame.fullmatch(text))), None)
    text = framed[1] if framed else text
    if found := patterns.appended.search(text):
        is_plan = found[0].endswith(CLAUDE_CODE.appended)
        text = text[: found.start()].rstrip() + "".join(text[found.end() :].partition(_OF_PLAN)[1:] if is_plan else ())
    if "</" not in text:
        return text
    untagged = patterns.typed.sub("", patterns.tagged.sub("", text))
    return _COMMAND.sub(lambda command: f"{command[1]} {command[2] or ''}".rstrip(), untagged)


def by_program(kind: str) -> Provided:
    """Returns the mark of a message with the user's role, or of a text in it, that an agent's program or one of its
    extensions wrote, where the record says so and the text does not. `kind` is what the record calls it."""
    return Provided(format=_BY_PROGRAM, fields={"kind": kind})


def marked_typed(blocks: Sequence[Block], typed: str) -> tuple[Block, ...]:
    """Returns a user's message with the mark of what the user typed, if the program sent other texts in its place: the
    prompt that a command stands for."""
    texts = [block.text.strip() for block in blocks if isinstance(block, TextBlock)]
    if not typed or typed.strip() in texts:
        return tuple(blocks)
    marks = (
        Provided(format=_BY_PROGRAM, fields={"kind": "expanded", "typed": own}) for own in (typed, *("" for _ in texts))
    )
    return tuple(replace(block, provided=next(marks)) if isinstance(block, TextBlock) else block for block in blocks)


def is_by_program(written: Message | TextBlock) -> bool:
    """Returns whether a message or a text has the mark of `by_program`."""
    return written.provided is not None and written.provided.format == _BY_PROGRAM


def is_by_agent(message: Message) -> bool:
    """Returns whether an agent's program wrote a message that has the user's role: its own summary, a reminder, the
    output of a command. A message is the user's if any text in it is, or if it has a tool's result or no text."""
    if is_by_program(message):
        return True
    if message.role is not Role.USER or any(isinstance(block, ToolResultBlock) for block in message.content):
        return False
    texts = [block for block in message.content if isinstance(block, TextBlock)]
    return bool(texts) and not any(_says(_own_text(block)) for block in texts)


def speaker_of(message: Message) -> str:
    """Returns who a message is from, as users read it: `agent` if the agent's program wrote it, `tool` if it has only
    results of tools, else its role."""
    return "agent" if is_by_agent(message) else message.speaker


def typed_texts(message: Message) -> list[str]:
    """Returns the texts of a message that the user may have typed, without what agents and editors inserted. A summary
    with which an agent continues is among them. Empty if the agent's program wrote the message."""
    if is_by_program(message):
        return []
    texts = (without_inserted(text).strip() for text in _own_texts(message).values())
    return [text for text in texts if text and is_typed(text)]


def typed_instead(block: TextBlock) -> str:
    """Returns what the user typed where an agent's program wrote this text instead, as `marked_typed` says; else ""."""
    return as_text(block.provided.fields.get("typed")) if block.provided and is_by_program(block) else ""


def _own_text(block: TextBlock) -> str:
    """Returns a text of the user's, or what the user typed where the program wrote another one instead. Empty if the
    program wrote the text by itself."""
    return typed_instead(block) if is_by_program(block) else block.text


def _own_texts(message: Message) -> dict[int, str]:
    """Returns the texts of a message by their places, without those that its program wrote and those of files that the
    user named in it."""
    own, is_inside = dict[int, str](), False
    for place, block in enumerate(message.content):
        if isinstance(block, TextBlock) and (text := _own_text(block).strip()):
            is_inside |= text.startswith(_FILES)
            if not is_inside:
                own[place] = _own_text(block)
            is_inside &= not text.endswith(_END_OF_FILES)
    return own


def linked(message: Message) -> list[str]:
    """Returns the addresses of what is attached to a message."""
    return [block.title for block in message.content if isinstance(block, ResourceBlock)]


def typed_blocks(message: Message) -> Sequence[int]:
    """Returns the indices of the blocks that the user typed or attached. In a message with tool results these are only
    the texts next to them. Returns none for a message that an agent's program wrote, for a command's output, and for
    blanks."""
    if message.role is not Role.USER or message.compaction or is_by_program(message):
        return ()
    content = message.content
    texts = _own_texts(message)
    typed = [i for i, text in texts.items() if _says(text)]
    if any(isinstance(block, ToolResultBlock) for block in content):
        return typed
    attached = not texts and any(not isinstance(block, TextBlock) for block in content)
    return range(len(content)) if attached or (typed and not is_output(message.text)) else ()


def _says(text: str) -> bool:
    said = without_inserted(text)
    return bool(said.strip()) and is_typed(said) and not is_summary(said)
