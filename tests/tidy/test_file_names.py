"""A file has a name of its own, and is worth a file: small helpers of one neighbour are merged with it."""

from collections import defaultdict
from pathlib import Path

from structure import parse, with_one_neighbour

SOURCE = Path(__file__).resolve().parents[2] / "server" / "ullage"
SHORTEST = 40
# Shorter modules that only one neighbour imports, each with the reason why it is a module.
ALONE = {
    "cli/hooks/wired.py": "looks into an agent's settings, which the hooks themselves never do",
    "mcp/connection.py": "each door has its dialect there",
    "app/summary_prompts.py": "reads files, and `compose.py` only puts parts together",
}
# The files of an agent's folder have fixed names (agents/README.md), so that everything known of it is found by them.
OF_AN_AGENT = {
    *("acp.py", "compaction_settings.py", "inserted.py", "reader.py", "retention.py", "session_writer.py"),
    *("sessions.py", "thresholds.py", "wiring.py"),
}
# Names that several files have, each with the reason. Files under `cli/commands` are not counted: each is named after
# its command.
SHARED = {
    "acp.py": "one for each agent: what is known of the agent behind the proxy",
    "agent.py": "the values of every agent; ACP's agent side; the process behind the proxy",
    "announce.py": "the same part of both doors",
    "anthropic_messages.py": "Anthropic's Messages API: asked for an answer, and read as a transcript",
    "commands.py": "what each door offers as commands, in its protocol's word; a system's commands",
    "compaction_settings.py": "one for each agent: what the user's settings of it say",
    "connection.py": "the same part of the doors and of the proxy",
    "handshake.py": "the same part of the doors",
    "inserted.py": "what agents insert, and what one agent inserts",
    "reader.py": "one for each agent: its transcript format",
    "retention.py": "how long agents keep transcripts, and how long one does",
    "run.py": "the first step of its room: runs a compaction, runs a turn",
    "session_writer.py": "one for each agent: how a session is written that it resumes",
    "sessions.py": "sessions in the service, ACP's methods for them, and where each agent keeps its own",
    "thresholds.py": "one for each agent: its windows, and where it compacts",
    "tool_calls.py": "run in a turn, recorded by the proxy",
    "updates.py": "the values of updates, and how ACP sends them",
    "wiring.py": "how Ullage is added to agents, and to one agent",
    "usage.py": "the values of usage, and the usage of a conversation",
}


def test_no_short_module_serves_one_neighbour_alone() -> None:
    found = {
        path.relative_to(SOURCE).as_posix()
        for path in with_one_neighbour(SOURCE, parse(SOURCE))
        if len(path.read_text(encoding="utf-8").splitlines()) < SHORTEST
        and path.name != "__init__.py"
        and not (path.parts[-3] == "agents" and path.name in OF_AN_AGENT)
    }
    assert found == set(ALONE)


def test_no_two_files_have_one_name() -> None:
    places: dict[str, list[str]] = defaultdict(list)
    for path in sorted(SOURCE.rglob("*.py")):
        place = path.relative_to(SOURCE).as_posix()
        if path.name != "__init__.py" and not place.startswith("cli/commands/"):
            places[path.name].append(place)
    assert {name for name, found in places.items() if len(found) > 1} == set(SHARED)
