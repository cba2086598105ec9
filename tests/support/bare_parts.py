"""The parts of Ullage that `bare_system.py` runs. Each prints what the test compares."""

import json
import pkgutil
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import ullage
from ullage import ContextManager
from ullage.cli.main import main
from ullage.store.memories.memory_files import FolderMemory, PathFolder, open_folder
from ullage.tools.toolbox import run_memory


def import_all() -> None:
    """Imports every module of Ullage and prints how many there are."""
    names = [module.name for module in pkgutil.walk_packages(ullage.__path__, "ullage.")]
    for name in names:
        if not name.endswith("__main__"):
            import_module(name)
    sys.stdout.write(str(len(names)))


def run_core(folder: str) -> None:
    """Appends to a conversation on disk, compacts it offline, undoes that, opens it again and searches it."""
    store = Path(folder) / "sessions.db"
    with ContextManager("gpt-4o", window=32_000, store=store) as manager:
        for number in range(12):
            manager.add_message({"role": "user", "content": f"Step {number}: look at module_{number}.py."})
            manager.add_message({"role": "assistant", "content": f"I read module_{number}.py. " + "word " * 400})
        before = manager.token_usage
        compacted = manager.compact_sync()
        after = manager.token_usage
        manager.undo()
        session_id = manager.session_id
    with ContextManager("gpt-4o", window=32_000, store=store, session_id=session_id) as manager:
        undone, hits = manager.token_usage, len(manager.search("module_3.py"))
    found = {"smaller": after < before, "removed": len(compacted.removed), "undone": undone == before, "hits": hits}
    sys.stdout.write(json.dumps(found))


def run_memory_tool(folder: str) -> None:
    """Runs commands of the memory tool on a folder that must be opened by path."""
    files = FolderMemory(Path(folder) / "memory")
    commands = (
        {"command": "create", "path": "/memories/plans/notes.md", "file_text": "one\n"},
        {"command": "insert", "path": "/memories/plans/notes.md", "insert_line": 1, "insert_text": "two"},
        {"command": "rename", "old_path": "/memories/plans", "new_path": "/memories/done"},
        {"command": "view", "path": "/memories/done/notes.md"},
    )
    answers = [run_memory(files, command) for command in commands]
    errors = [answer.text for answer in answers if answer.is_error]
    sys.stdout.write(
        json.dumps({"errors": errors, "last": answers[-1].text, "by_path": open_folder == PathFolder.open})
    )


def run_command(*argv: str) -> None:
    """Runs one command of the command line."""
    sys.exit(main(argv))


PARTS: dict[str, Callable[..., None]] = {
    "import": import_all,
    "core": run_core,
    "memory": run_memory_tool,
    "command": run_command,
}
