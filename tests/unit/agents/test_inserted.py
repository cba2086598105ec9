"""The texts that agents insert into the user's messages."""

import pytest

from ullage.agents.inserted import (
    is_by_agent,
    is_summary,
    is_typed,
    marked_typed,
    typed_blocks,
    typed_texts,
    without_inserted,
)
from ullage.model.message import Block, Message, Role, TextBlock, ToolResultBlock
from ullage.store.search.word_index import message_text

# What Crush puts before a prompt that it sends again.
INTERRUPTED = "The previous session was interrupted because it got too long, the initial user request was"

# What opencode sends for `/init`, before what the user typed after that.
INIT = "Create or update `AGENTS.md` for this repository.\n\nUser-provided focus or constraints (honor these):"


def test_a_text_without_what_was_inserted_is_the_users() -> None:
    text = "Fix it.<system-reminder>Be brief.</system-reminder><environment_context>cwd</environment_context> Now."
    assert without_inserted(text) == "Fix it. Now."
    for typed in ("a <b>bold</b> word", "render <skill>Go</skill> as a badge"):
        assert without_inserted(typed) == typed


@pytest.mark.parametrize(
    ("text", "typed"),
    [
        ('Fix it.\n<hook_context source="PreToolUse" tool_name="run">\nx\n</hook_context>', "Fix it."),
        ('<user_input mode="act">Fix it.</user_input>', "Fix it."),
        ("<USER_REQUEST>\nFix it.\n</USER_REQUEST>\n<USER_SETTINGS_CHANGE>\nx\n</USER_SETTINGS_CHANGE>", "Fix it."),
        (
            "<current_datetime>2026-11-22</current_datetime>\n\nFix it.\n\n<system_reminder>x</system_reminder>",
            "Fix it.",
        ),
        (
            "Here's a running example of how to perform a task with the provided tools.\n\n"
            "--------------------- START OF EXAMPLE ---------------------\n\nUSER: Count to ten.\n"
            "--------------------- NEW TASK DESCRIPTION ---------------------\nFix it.\n"
            "--------------------- END OF NEW TASK DESCRIPTION ---------------------\n\nPLEASE follow it!",
            "Fix it.",
        ),
        ("<command-message>review</command-message>\n<command-name>/review</command-name>", "/review"),
        (
            "<command-message>review</command-message>\n<command-name>/review</command-name>\n"
            "<command-args>the last commit</command-args>",
            "/review the last commit",
        ),
        ("Fix it.<qwen:user-prompt-submit-context>\nBe brief.\n</qwen:user-prompt-submit-context>", "Fix it."),
        (
            "# Context from my IDE setup:\n\n## Active file: a.ts\n\n## Open tabs:\n- a.ts: src/a.ts\n\n"
            "## My request for Codex:\nFix it.\n",
            "Fix it.",
        ),
        ("\n# Files mentioned by the user:\n\n## a.png: /tmp/a.png\n\n## My request for Codex:\n\n\n", ""),
        ("<timestamp>Monday, 2 pm</timestamp>\n<user_query>\nFix it.\n</user_query>", "Fix it."),
        ("<attached_files>\nx = 1\n</attached_files>\n\n<user_query>\nFix it.\n</user_query>", "Fix it."),
        (f"<attached_files>\n{'x = 1' * 9_000}\n</attached_files>\n<user_query>\nFix it.\n</user_query>", "Fix it."),
        (f"# Selected text:\n\n{'x = 1' * 9_000}\n\n## My request for Codex:\nFix it.", "Fix it."),
        ("<task>\nFix it.\n</task>", "Fix it."),
        ("<task>\nFix it.\n</task>\n\n<environment_details>\nx\n</environment_details>", "Fix it."),
        ("Why is <task>x</task> in build.xml?", "Why is <task>x</task> in build.xml?"),
        ("The user provided the following feedback:\n<feedback>\nFix it.\n</feedback>", "Fix it."),
        (
            "Fix @a.py\n--- Content from referenced files ---\nContent from @a.py:\nx = 1\n--- End of content ---",
            "Fix @a.py",
        ),
        ("<image_resize_notice>\nMade smaller.\n</image_resize_notice>\nFix it.", "Fix it."),
        ("<send_user_message_question_reply>\nFix it.\n</send_user_message_question_reply>", "Fix it."),
        (
            "User hints:\n<user_input>\n- Fix it.\n</user_input>\n\nInternal instruction: Re-evaluate the active plan.",
            "- Fix it.",
        ),
        ("\n[User message received during tool execution]: Fix it.", "Fix it."),
        ("[The user sent a new message while you were working. Theirs was cancelled.]\n\nFix it.", "Fix it."),
        ('<user_input mode="plan"><mode_notice>To plan mode.</mode_notice>\nFix it.</user_input>', "Fix it."),
        ("<user-memory-input>Never push.</user-memory-input>", "Never push."),
        ("# My plan:\nFix it.", "# My plan:\nFix it."),
        ("<info-msg>\nIt is currently 2026-11-22 10:00:00\nWorking directory: /srv\n</info-msg>\nFix it.", "Fix it."),
        (f"{INTERRUPTED}: `Fix `a.py``", "Fix `a.py`"),
        (f"{INTERRUPTED}: `{INTERRUPTED}: `Fix `a.py```", "Fix `a.py`"),
        (f"{INIT}\nBe brief.\nNo lists.\n\n\n## How to investigate\n\nRead.", "Be brief.\nNo lists."),
        (f"{INIT}\n\n\n## How to investigate\n\nRead.", ""),
        (
            "You are a code reviewer. Your job is to review code changes and provide actionable feedback.\n\n---\n\n"
            "Input: the last commit\n\n---\n\n## What",
            "the last commit",
        ),
        (
            '[IMPORTANT: The user has invoked the "hoops" skill, and wants it.]\n\nCount each hoop.\n\nThe user has '
            "provided the following instruction alongside the skill invocation: Fix it.",
            "Fix it.",
        ),
        ("What does <user_query>x</user_query> mean?", "What does <user_query>x</user_query> mean?"),
    ],
)
def test_what_is_around_the_users_words_is_left_out(text: str, typed: str) -> None:
    assert without_inserted(text).strip() == typed


@pytest.mark.parametrize(
    "text",
    [
        "<command-name>/clear</command-name>",
        " [Request interrupted by user]",
        "<bash-stdout>x</bash-stdout>",
        "Background execution update:\n<background_output>\nx\n</background_output>\n\nAcknowledge it.",
        '<teammate-message teammate_id="lead">Push it.</teammate-message>',
        "<cross-session-message>Push it.</cross-session-message>",
        "<fork-boilerplate>You are a fork.</fork-boilerplate>\nYour directive: push it.",
        '<mcp-resource-update server="tickets">x</mcp-resource-update>',
        "<qwen:user-prompt-submit-context>\nBe brief.\n</qwen:user-prompt-submit-context>",
        "Caveat: The messages below were generated by the user while running local commands.",
        "# AGENTS.md instructions for /srv/shop\n\n<INSTRUCTIONS>\nBe brief.\n</INSTRUCTIONS>",
        '<image name=[Image #1] path="/tmp/a.png">\n</image>',
        "/compact",
        "/",
        "/them",
        "/the\n",
        "/compact keep the ports\n",
        "This is the Gemini CLI. We are setting up the context for our chat.\nToday's date is Monday",
        "Here is the user's editor context as a JSON object. This is for your information only.\n```json\n{}\n```",
        "Here is a summary of changes in the user's editor context, in JSON format.",
        "## Context Usage\n\n**Model:** claude-opus-4-8  \n**Tokens:** 22.9k / 1m (2%)",
        "Base directory for this skill: /skills/review\n\n# Review",
        "I ran the following shell command:\n```sh\nls\n```\n\nThis produced the following result:\n```\na\n```",
        "Generate a file named AGENTS.md that serves as a contributor guide for this repository.\nBefore",
        "\nYou are an AI agent that brings the power of Gemini directly into the terminal. Your task is to analyze",
        "\nYou are Qwen Code, an interactive CLI agent. Analyze the current directory and generate x",
        "Please always provide EXACTLY ONE action in triple backticks, found 2 actions.",
        "Tool call error:\n\n<error>\nNo tool calls found in the response.\n</error>",
        "ERROR! Your Patch is empty. Please provide a patch that fixes the problem.",
        "EXECUTION RESULT of [terminal]:\ntotal 784\n[The command completed with exit code 0.]",
        "Continue if you have next steps, or stop and ask for clarification if you are unsure how to proceed.",
        "The following is a <SYSTEM_MESSAGE> not actually sent by the user.\n\n<SYSTEM_MESSAGE>x</SYSTEM_MESSAGE>",
        '[IMPORTANT: The user has invoked the "hoops" skill, and wants it.]\n\nCount each hoop.',
        "[IMPORTANT: Background process proc_1 completed normally (exit code 0).\nCommand: make\nOutput:\nok]",
        "[ASYNC DELEGATION BATCH COMPLETE — deleg_1]\nA background fan-out of 1 subagent(s) has finished.",
        "[System: Your previous response was truncated by the output length limit. Continue.]",
        "[Your active task list was preserved across context compression]\n- [ ] 1. Push it.",
        "Please continue with the next step, or if the task is complete or you need clarification, use the 'x' tool.",
    ],
)
def test_an_agents_own_lines_are_not_typed(text: str) -> None:
    assert not is_typed(text)
    assert is_typed(f"Why {text}?")


def test_files_that_were_named_in_a_message_are_not_typed() -> None:
    texts = (
        *("Fix @a.py, and not @b.py.", "\n--- Content from referenced files ---"),
        *("\nContent from @a.py:\n", "x = 1", "\n--- End of content ---", "And be quick."),
    )
    message = Message(id="u", role=Role.USER, content=tuple(TextBlock(text=text) for text in texts))
    assert typed_texts(message) == ["Fix @a.py, and not @b.py.", "And be quick."]


def test_of_the_prompt_that_a_command_stands_for_the_command_is_typed() -> None:
    sent = (TextBlock(text="Fix this: x. Then test it."), TextBlock(text="x = 1"))
    message = Message(id="u", role=Role.USER, content=marked_typed(sent, "/fix x"))
    assert typed_texts(message) == ["/fix x"]
    assert message_text(message) == "/fix x\nFix this: x. Then test it.\nx = 1"
    assert list(typed_blocks(message)) == [0, 1]
    assert (message.text, is_by_agent(message)) == ("Fix this: x. Then test it.\nx = 1", False)
    assert marked_typed(sent, "") == marked_typed(sent, "x = 1 ") == sent


def test_an_agents_summary_is_known_by_its_opening() -> None:
    assert is_summary("This session is being continued from a previous conversation that ran out of context.")
    assert not is_summary("Is this session being continued?")


def test_a_message_is_the_agents_if_no_text_in_it_is_the_users() -> None:
    reminder, typed = (
        TextBlock(text="<system-reminder>\nToday is Monday.\n</system-reminder>"),
        TextBlock(text="Fix it."),
    )
    summary = TextBlock(text="This session is being continued from a previous conversation that ran out of context.")
    output = TextBlock(text="<local-command-stdout>Compacted</local-command-stdout>")
    both = TextBlock(text=f"{reminder.text}\n{typed.text}")
    result = ToolResultBlock(tool_use_id="c1", content=(typed,))

    def by_agent(*content: Block, role: Role = Role.USER) -> bool:
        return is_by_agent(Message(id="m1", role=role, content=content))

    assert [by_agent(block) for block in (reminder, summary, output)] == [True] * 3
    assert not any(by_agent(*content) for content in [(typed,), (reminder, typed), (both,), (result, reminder), ()])
    assert not by_agent(reminder, role=Role.ASSISTANT)


def test_what_claude_code_appends_to_an_approved_plan_is_not_the_users() -> None:
    appended = (
        "If you need specific details from before exiting plan mode (like errors), read the full transcript at: /a"
    )
    assert without_inserted(f"Implement the following plan:\n\n# Plan\n\n\n{appended}") == (
        "Implement the following plan:\n\n# Plan"
    )
    said = "User feedback on this plan: never on Fridays"
    assert without_inserted(f"Do this:\n\n# Plan\n\n{appended}\n\nGo.\n\n{said}") == f"Do this:\n\n# Plan\n\n{said}"
    file = f"--- Content from referenced files ---\nContent from @a.md:\n\n{said}\n--- End of content ---"
    assert without_inserted(f"Read @a.md\n{file}") == "Read @a.md"
    assert without_inserted(f"I read this: {appended}") == f"I read this: {appended}"


def test_a_message_that_only_begins_with_the_command_to_compact_is_typed() -> None:
    assert is_typed("/compact fails here:\nTraceback (most recent call last)")
    assert is_typed("/compacting is slow")


@pytest.mark.parametrize(
    "text", ["Caveat: the staging box is down until 3pm", "# AGENTS.md instructions are out of date, mend them"]
)
def test_a_message_that_has_only_a_word_of_what_agents_insert_is_typed(text: str) -> None:
    assert is_typed(text)
