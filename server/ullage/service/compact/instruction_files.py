"""The project's instruction files that a compaction brings back, as they are on disk now.

They are part of the marker, so an undo of the compaction removes them, and their tokens come out of the summary's room,
so the target holds. Their names are always allowed. Their contents are included only if `context.bringBack` is
`contents` and the folder is among the folders that the user trusts. What a system prompt says word for word is left
out, because a compaction keeps system prompts.
"""

import asyncio
from collections.abc import Sequence

from msgspec.structs import replace

from ullage.edits.counted import CountedView
from ullage.model.blocks import BroughtBack, TextBlock, text_and_resources
from ullage.model.marker import render_brought_back
from ullage.model.message import INSTRUCTION_FILES, Message, Role
from ullage.redaction.clean import clean
from ullage.redaction.privacy import hide_text
from ullage.service.conversation.conversation import Conversation
from ullage.service.conversation.planned import Planned
from ullage.service.ports.world import ProjectFile

# About 5,000 tokens per file, as much as other products bring back.
_MOST_CHARS = 20_000
# The most that the files may take of the summary's room: the summary is the purpose of the compaction.
_SHARE = 0.25
# Joined to the text before it, a text may count a few tokens more than alone.
_SLACK = 8


async def look_up(conversation: Conversation) -> tuple[ProjectFile, ...]:
    """Returns the project's instruction files in the session's folder, with their contents as far as the settings and
    the user's trust in the folder allow. Empty if the setting `bringBack` is `off`."""
    settings, cwd = conversation.settings, conversation.transcript.cwd
    if settings.bring_back == "off" or not cwd:
        return ()
    find = conversation.workspace.ports.project_files.find
    files = await asyncio.to_thread(find, cwd, INSTRUCTION_FILES, settings.trusted_folders, _MOST_CHARS)
    said = _system_prompts(conversation)
    lacking = [file for file in files if not file.text.strip() or file.text.strip() not in said]
    return tuple(lacking if settings.bring_back == "contents" else (replace(file, text="") for file in lacking))


def with_files(planned: Planned, files: Sequence[ProjectFile]) -> Planned:
    """Returns the plan with as many instruction files as fit into the marker: first the names of all, then contents, in
    order. Their tokens are taken from the summary's room."""
    plan, view = planned.plan, planned.view
    room = plan.room - plan.summary_tokens + int(plan.summary_tokens * _SHARE)
    chosen: list[BroughtBack] = []
    for file in files:
        if _cost(view, [*chosen, BroughtBack(path=file.path)]) <= room:
            chosen.append(BroughtBack(path=file.path))
    for place, named in enumerate(chosen):
        text = next(file.text for file in files if file.path == named.path)
        whole = replace(named, text=clean(hide_text(text, planned.private)))
        if text and _cost(view, [*chosen[:place], whole, *chosen[place + 1 :]]) <= room:
            chosen[place] = whole
    if not chosen:
        return planned
    summary = min(plan.summary_tokens, plan.room - _cost(view, chosen))
    return replace(planned, plan=replace(plan, summary_tokens=summary), brought_back=tuple(chosen))


def _system_prompts(conversation: Conversation) -> str:
    messages = (item.message for item in conversation.transcript.items)
    return "\n".join(text_and_resources(message.content) for message in messages if message.role is Role.SYSTEM)


def _cost(view: CountedView, chosen: Sequence[BroughtBack]) -> int:
    text = render_brought_back(chosen)
    return view.measure(Message(id="", role=Role.USER, content=(TextBlock(text=text),))) + _SLACK
