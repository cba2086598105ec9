"""Where Antigravity keeps its transcripts, and how their titles are found."""

from collections.abc import Sequence

from ullage.agents.machine import Machine, first_line
from ullage.model.json_values import JsonObject, as_text

_BEGIN, _END = "<USER_REQUEST>", "</USER_REQUEST>"


def patterns(machine: Machine) -> tuple[str, ...]:
    """Returns glob patterns for the transcripts of Antigravity's editor, desktop program and command line.

    Of the two files of a conversation only the complete one, `transcript_full.jsonl`, is matched.
    """
    home = f"{machine.folder('', '.gemini')}"
    return tuple(
        f"{home}/{program}/brain/*/.system_generated/logs/transcript_full.jsonl"
        for program in ("antigravity", "antigravity-ide", "antigravity-cli")
    )


def title_of(records: Sequence[JsonObject]) -> str:
    """Returns the first line of the first prompt in these records of a conversation, as its title; empty if they have
    none."""
    texts = (as_text(record.get("content")) for record in records if record.get("type") == "USER_INPUT")
    parts = (text.partition(_BEGIN)[2].partition(_END) for text in texts)
    return next((first_line(request) for request, ends, _ in parts if ends), "")
