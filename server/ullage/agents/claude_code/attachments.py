"""Texts that Claude Code adds for the model and that the user does not see: `attachment` lines and local commands.

The wording around them is not in the log. So the texts are quoted in the tags that Claude Code puts around most of
them.
"""

from collections.abc import Callable
from typing import Any

from ullage.agents.claude_code.entry import Entry
from ullage.formats.parsing import as_count, to_json
from ullage.formats.transcripts.anthropic_blocks import read_blocks
from ullage.model.blocks import Block, ImageBlock, TextBlock
from ullage.model.json_values import JsonObject, as_list, as_object, as_objects, as_text

# Attachments of which no text is read: it is not in the log, or it is no message of the conversation. Those of 2.1.316
# are facts about the session, which the model is sent in every session and which count with what the agent adds to
# each request, the system prompt (`prompt_snapshot`), and the tools that a search has found.
_WITHOUT_TEXT = {
    *("date", "deferred_tools_record", "environment", "prompt_snapshot", "remote_session_change", "session_context"),
    *("agent_mention", "auto_mode", "budget_usd", "command_permissions", "compact_file_reference", "delegate_mode"),
    *("delegate_mode_exit", "dynamic_skill", "edited_image_file", "hook_cancelled", "hook_error_during_execution"),
    *("hook_non_blocking_error", "hook_permission_decision", "hook_progress", "hook_system_message", "output_style"),
    *("pdf_reference", "plan_mode", "plan_mode_exit", "plan_mode_reentry", "structured_output", "team_context"),
    *("token_usage", "ultra_effort_enter", "ultra_effort_exit"),
    # Those of 2.1.332: what the program notes for itself, or shows to the user.
    *("advisor_stripped", "agent_progress", "api_metrics", "artifact_opening_prefetch", "at_mention_reference"),
    *("context_efficiency", "credential_org", "hook_deferred_tool", "inlined_image_paths", "max_turns_reached"),
    *("mcp_dropped_tools_delta", "output_token_usage", "prefix_delta", "progress_reminder_sent"),
    *("prompt_as_file", "prompt_render_point", "secondary_reminder_sent", "thinking_drop", "thread_state"),
    *("whole_texts_withdrawn",),
}
_FILES = ("file", "already_read_file")


def attached(entry: Entry) -> tuple[Block, ...]:
    """Returns the content that the model is sent for an `attachment` line, as blocks; empty if the log does not contain
    it."""
    attachment = as_object(entry.value.get("attachment"))
    kind = as_text(attachment.get("type"))
    if kind == "queued_command":
        return read_blocks(attachment.get("prompt"))
    if kind in _FILES:
        return _file(attachment)
    text = _TEXTS.get(kind, _any_text)(attachment).strip() if kind not in _WITHOUT_TEXT else ""
    return (reminder(text),) if text else ()


def is_known(entry: Entry) -> bool:
    """Returns whether the kind of an `attachment` line is one that this module knows."""
    kind = as_text(as_object(entry.value.get("attachment")).get("type"))
    return kind in _TEXTS or kind in _WITHOUT_TEXT or kind in ("queued_command", *_FILES)


def reminder(text: str) -> TextBlock:
    """Returns a text in the tags by which Claude Code marks it for the model as a reminder, not as the user's words."""
    return TextBlock(text=f"<system-reminder>\n{text}\n</system-reminder>")


def _file(attachment: JsonObject) -> tuple[Block, ...]:
    content = as_object(attachment.get("content"))
    file = as_object(content.get("file"))
    if content.get("type") == "image":
        media_type = as_text(file.get("type")) or "image/png"
        return (ImageBlock(media_type=media_type, data=as_text(file.get("base64"))),)
    asked = to_json({"file_path": as_text(file.get("filePath")) or as_text(attachment.get("filename"))})
    text = as_text(file.get("content")) or (to_json(content) if content else "")
    called = reminder(f"Called the Read tool with the following input: {asked}")
    return (called, reminder(f"Result of calling the Read tool:\n{text}")) if text else ()


def _lines(name: str) -> Callable[[JsonObject], str]:
    return lambda attachment: "\n".join(as_text(item) or to_json(item) for item in as_list(attachment.get(name)))


def _text(name: str) -> Callable[[JsonObject], str]:
    return lambda attachment: as_text(attachment.get(name))


def _hook(what: str) -> Callable[[JsonObject], str]:
    def said(attachment: JsonObject) -> str:
        content = attachment.get("content", as_object(attachment.get("blockingError")).get("blockingError"))
        text = as_text(content) or "\n".join(as_text(item) for item in as_list(content))
        return f"{as_text(attachment.get('hookName'))} hook {what}: {text}" if text else ""

    return said


def _memory(attachment: JsonObject) -> str:
    text = as_text(as_object(attachment.get("content")).get("content"))
    return f"Contents of {as_text(attachment.get('path'))}:\n\n{text}" if text else ""


def _edited(attachment: JsonObject) -> str:
    snippet = as_text(attachment.get("snippet"))
    return f"{as_text(attachment.get('filename'))} was changed outside this conversation:\n{snippet}" if snippet else ""


def _selected(attachment: JsonObject) -> str:
    lines = f"lines {as_count(attachment.get('lineStart'))} to {as_count(attachment.get('lineEnd'))}"
    return (
        f"Selected in the editor, {as_text(attachment.get('filename'))}, {lines}:\n{as_text(attachment.get('content'))}"
    )


def _json(name: str) -> Callable[[JsonObject], str]:
    return lambda attachment: to_json(attachment[name]) if attachment.get(name) else ""


def _skills(attachment: JsonObject) -> str:
    return "\n\n".join(as_text(skill.get("content")) for skill in as_objects(attachment.get("skills")))


def _tasks(attachment: JsonObject) -> str:
    items = as_list(attachment.get("content"))
    return f"The task list now: {to_json(items)}" if items else ""


def _status(attachment: JsonObject) -> str:
    said = [as_text(attachment.get(name)) for name in ("taskId", "description", "status", "deltaSummary")]
    return "Task " + ", ".join(text for text in said if text)


def _any_text(attachment: JsonObject) -> str:
    """Returns the text of an attachment whose kind this module does not know; empty if no usual field has one."""
    found: list[Any] = [attachment.get(name) for name in ("content", "text", "prompt", "banner", "addedLines")]
    return next(
        (text for text in ("\n".join(map(as_text, as_list(item))) or as_text(item) for item in found) if text), ""
    )


_TEXTS: dict[str, Callable[[JsonObject], str]] = {
    "agent_listing_delta": _lines("addedLines"),
    "async_hook_response": _json("response"),
    "batching_reminder_sent": _text("text"),
    "critical_system_reminder": _text("content"),
    "date_change": lambda attachment: f"The date is now {as_text(attachment.get('newDate'))}.",
    "deferred_tools_delta": _lines("addedLines"),
    "diagnostics": _json("files"),
    "directory": lambda attachment: (
        f"Contents of {as_text(attachment.get('path'))}:\n{as_text(attachment.get('content'))}"
    ),
    "edited_text_file": _edited,
    "hook_additional_context": _hook("additional context"),
    "hook_blocking_error": _hook("blocking error"),
    "hook_stopped_continuation": _text("message"),
    "hook_success": _hook("success"),
    "invoked_skills": _skills,
    "mcp_instructions_delta": _lines("addedBlocks"),
    "mcp_resource": _json("content"),
    "nested_memory": _memory,
    "opened_file_in_ide": lambda attachment: f"Open in the editor: {as_text(attachment.get('filename'))}",
    "plan_file_reference": _text("planContent"),
    "read_truncation_notice": _text("banner"),
    "selected_lines_in_ide": _selected,
    "silent_turn_reminder": _text("text"),
    "skill_listing": _text("content"),
    "task_progress": _text("message"),
    "task_reminder": _tasks,
    "task_status": _status,
    "todo": _tasks,
    "todo_reminder": _tasks,
    "total_tokens_reminder": _text("text"),
}
