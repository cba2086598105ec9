"""The texts that agents insert into the user's messages."""

import pytest

from ullage.agents.inserted import is_by_agent, is_summary, is_typed, without_inserted
from ullage.model.blocks import Block, TextBlock, ToolResultBlock
from ullage.model.message import Message, Role


def test_a_text_without_what_was_inserted_is_the_users() -> None:
    text = "Fix it.<system-reminder>Be brief.</system-reminder><environment_context>cwd</environment_context> Now."
    assert without_inserted(text) == "Fix it. Now."
    assert without_inserted("a <b>bold</b> word") == "a <b>bold</b> word"


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
        ("<command-message>review</command-message>\n<command-name>/review</command-name>", "/review"),
        (
            "<command-message>review</command-message>\n<command-name>/review</command-name>\n"
            "<command-args>the last commit</command-args>",
            "/review the last commit",
        ),
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
        "/compact",
        "/compact keep the ports\n",
        "## Context Usage\n\n**Model:** claude-opus-4-8  \n**Tokens:** 22.9k / 1m (2%)",
        "Base directory for this skill: /skills/review\n\n# Review",
        "Please always provide EXACTLY ONE action in triple backticks, found 2 actions.",
        "Tool call error:\n\n<error>\nNo tool calls found in the response.\n</error>",
        "ERROR! Your Patch is empty. Please provide a patch that fixes the problem.",
        "EXECUTION RESULT of [terminal]:\ntotal 784\n[The command completed with exit code 0.]",
        "Continue if you have next steps, or stop and ask for clarification if you are unsure how to proceed.",
        "The following is a <SYSTEM_MESSAGE> not actually sent by the user.\n\n<SYSTEM_MESSAGE>x</SYSTEM_MESSAGE>",
        "Please continue with the next step, or if the task is complete or you need clarification, use the 'x' tool.",
    ],
)
def test_an_agents_own_lines_are_not_typed(text: str) -> None:
    assert not is_typed(text)
    assert is_typed(f"Why {text}?")


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
    assert without_inserted(f"I read this: {appended}") == f"I read this: {appended}"


def test_a_message_that_only_begins_with_the_command_to_compact_is_typed() -> None:
    assert is_typed("/compact fails here:\nTraceback (most recent call last)")
    assert is_typed("/compacting is slow")
