"""The system prompt of a session that Ullage's agent answers: what the agent is for, where it works, and the project's
own instructions.

The contents of the project's instruction files are included if the user trusts the folder (`context.trustedFolders`);
otherwise they are named. They are blocks of their own, so that `/context` counts them as memory.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import PurePath

from ullage.model.blocks import Block, ResourceBlock, TextBlock
from ullage.model.message import INSTRUCTION_FILES
from ullage.service.conversation.conversation import Conversation
from ullage.service.ports.world import ProjectFile, Surroundings

LookAround = Callable[[str], Surroundings]
# About 5,000 tokens per file and 15,000 in all; a longer file is the first part of itself.
_MOST_CHARS = 20_000
_MOST_CHARS_IN_ALL = 60_000
_TASK = (
    "You help the user with the project that is open in their editor. Look at it with your tools before you answer "
    "questions about it. Name files by their paths. Answer in Markdown, as briefly as the question allows.\n"
    "You can do what your tools do and nothing else: without a tool for it, you run no commands and change no files. "
    "Then say what the user should do."
)
_NOT_INCLUDED = "The project has instruction files that are not included here: "


async def introduce_agent(look_around: LookAround, conversation: Conversation) -> tuple[Block, ...]:
    """Returns the system prompt of a session in its folder and the client's further folders, for its first prompt. The
    nearest instruction files come first. Never raises."""
    return await asyncio.to_thread(_system_prompt, look_around, conversation)


def _system_prompt(look_around: LookAround, conversation: Conversation) -> tuple[Block, ...]:
    workspace, cwd = conversation.workspace, conversation.transcript.cwd
    further = workspace.open_folders.get(conversation.id, ())
    around = look_around(cwd)
    trusted = conversation.settings.trusted_folders if workspace.trusts_projects else ()
    find = workspace.ports.project_files.find
    # The same text is often there twice, under the names that two agents look for.
    read: dict[str, ProjectFile] = {}
    named: list[str] = []
    for folder in around.folders:
        for file in find(folder, INSTRUCTION_FILES, trusted, _MOST_CHARS):
            path = str(PurePath(folder, file.path))
            if file.text.strip():
                read.setdefault(file.text, ProjectFile(path=path, text=file.text))
            else:
                named.append(path)
    about = TextBlock(text="\n\n".join((_TASK, "\n".join(_environment(around, cwd, further)), *_names(named))))
    return (about, *_as_resources(read.values()))


def _environment(around: Surroundings, cwd: str, further: Sequence[str]) -> Iterator[str]:
    yield f"Working folder: {cwd}"
    yield from (f"Further folder: {folder}" for folder in further)
    yield f"Platform: {around.platform}"
    yield f"Date: {around.date}"
    if around.branch:
        yield f"Git branch: {around.branch}"


def _names(paths: Sequence[str]) -> Iterator[str]:
    if paths:
        yield f"{_NOT_INCLUDED}{', '.join(paths)}"


def _as_resources(files: Iterable[ProjectFile]) -> Iterator[ResourceBlock]:
    left = _MOST_CHARS_IN_ALL
    for file in files:
        text = file.text[:left]
        left -= len(text)
        if text:
            yield ResourceBlock(uri=file.path, text=text)
