"""The files in which projects and users give coding agents their standing instructions.

They are brought back after a compaction, quoted by summaries, and counted as memory.
"""

import re

# As each agent's documents name them, relative to the project's folder; several agents read the first.
INSTRUCTION_FILES = (
    *("AGENTS.md", "CLAUDE.md", ".github/copilot-instructions.md", "GEMINI.md", ".cursorrules"),
    *("QWEN.md", "CRUSH.md", "CONVENTIONS.md", ".goosehints", ".windsurfrules", ".clinerules", ".roorules"),
    *("CLAUDE.local.md", "GEMINI.local.md", "AGENTS.local.md", "AGENTS.override.md"),
)
_NAMES = frozenset(path.rsplit("/", 1)[-1] for path in INSTRUCTION_FILES)
# What agents and the memory tool write for themselves.
_MEMORY = re.compile(r"(?:^|/)(?:MEMORY(?:\.local)?\.md$|memories/)")


def is_instruction_file(path: str) -> bool:
    """Returns whether the last name of a path or URI is that of a file of standing instructions, such as `AGENTS.md`.
    The folder does not matter."""
    return re.split(r"[/\\]", path)[-1] in _NAMES


def is_memory_file(path: str) -> bool:
    """Returns whether a path or URI names a file of standing instructions (`AGENTS.md`), a `MEMORY.md`, or a file in a
    folder `memories`."""
    return is_instruction_file(path) or _MEMORY.search(path) is not None
