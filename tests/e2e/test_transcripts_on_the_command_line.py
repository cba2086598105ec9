"""Every recorded conversation can be read and compacted to a budget, ready for a request of both providers."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from support.provider_rules import anthropic_violations, openai_violations
from support.transcripts import model_conversation_files
from ullage.cli.main import main

BUDGET = 8_000
RULES = {"anthropic": anthropic_violations, "openai": openai_violations}


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    assert main(arguments) == 0
    return msgspec.json.decode(capsys.readouterr().out)


@pytest.mark.parametrize("path", model_conversation_files(), ids=lambda path: path.name)
def test_recorded_conversation_fits_the_budget_and_stays_valid(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # `unit/agents/test_recorded_transcripts.py` writes the whole conversation for both.
    whole = run(capsys, "context", str(path), "--json", "--messages", "--provider", "anthropic")
    assert anthropic_violations(whole["messages"]) == []
    # Right after an agent's own compaction the messages may be fewer tokens than the budget; most is hidden then. Of
    # its summary the analysis is not kept, nor what the record says of files.
    there = whole["used"] - whole["hidden"] - whole["breakdown"]["summary"]
    for provider, violations in RULES.items():
        compacted = run(capsys, "compact", str(path), "--budget", str(BUDGET), "--json", "--provider", provider)
        assert violations(compacted["messages"]) == []
        assert compacted["used"] <= BUDGET
        if compacted["compaction"] is not None:
            assert compacted["used"] >= 0.9 * min(BUDGET, there)
