"""What a hook gives back: the brief of what a compaction left out, from the agent's own file."""

from pathlib import Path

from ullage.agents.table import agent_of_word
from ullage.agents.transcripts import read_document
from ullage.lost.brief import LONGEST, write_brief
from ullage.lost.handed_over import losses_of_file, losses_of_summary
from ullage.lost.left_out import count_kinds
from ullage.system.single_files import parse_file


def is_summary_known(agent: str, summary: str) -> bool:
    """Says whether the summary of a compaction that has just ended is known: it was kept, or the agent's file has it
    by now."""
    known = agent_of_word(agent)
    return bool(summary or (known and known.wiring and known.wiring.summary_in_file))


def brief_of(agent: str, path: str, summary: str) -> tuple[str, dict[str, int]]:
    """Returns the brief for the conversation in a file, and how many losses of each kind are in it. It is empty if
    nothing was left out.

    `summary` is the one of a compaction that the file does not have yet; if it is empty, the last compaction in the
    file is meant. Raises `UllageError` or `OSError` if the file can't be read.
    """
    known = agent_of_word(agent)
    if known is None or known.wiring is None:
        return "", {}
    transcript = read_document(parse_file(Path(path)))
    kept = known.wiring.summary_in(summary)
    losses = losses_of_summary(transcript, kept) if kept else losses_of_file(transcript)
    brief = write_brief(losses, LONGEST)
    return brief.text, count_kinds(brief.given)
