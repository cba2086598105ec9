"""The memory tool: runs one call of a model and returns the text of the tool's result."""

from typing import Any

from ullage.memory.memory_tool import Command, Create, Delete, Insert, Rename, StrReplace, View, read_command
from ullage.memory.notes import insert_text, parse_path, render_listing, replace_text, view_text
from ullage.model.errors import UllageError
from ullage.service.ports.models import ToolOutcome
from ullage.service.ports.store import MemoryFiles


def run_memory(files: MemoryFiles, arguments: dict[str, Any]) -> ToolOutcome:
    """Runs one call of the memory tool with the model's `arguments` and returns its result. Wrong arguments and disk
    errors become results with `is_error`. Blocks on the disk, so an event loop must call this function in a thread."""
    try:
        return ToolOutcome(text=_carry_out(files, read_command(arguments)))
    except UllageError as error:
        return ToolOutcome(text=str(error), is_error=True)


def _carry_out(files: MemoryFiles, command: Command) -> str:
    match command:
        case View():
            return _view(files, command)
        case Create():
            path = parse_path(command.path)
            files.create(path, command.file_text)
            return f"File created successfully at: {path}"
        case StrReplace(old_str=old, new_str=new):
            path = parse_path(command.path)
            return files.edit(path, lambda text: replace_text(path, text, old, new)).answer
        case Insert(insert_line=line, insert_text=inserted):
            path = parse_path(command.path)
            return files.edit(path, lambda text: insert_text(path, text, line, inserted)).answer
        case Delete():
            path = parse_path(command.path)
            files.delete(path)
            return f"Successfully deleted {path}"
        case Rename():
            old_path, new_path = parse_path(command.old_path), parse_path(command.new_path)
            files.rename(old_path, new_path)
            return f"Successfully renamed {old_path} to {new_path}"


def _view(files: MemoryFiles, command: View) -> str:
    path = parse_path(command.path)
    found = files.look(path)
    if isinstance(found, str):
        return view_text(path, found, command.view_range)
    return render_listing(path, found)
