"""The predicted size of the next prompt on recorded conversations."""

from statistics import median

import pytest

from support.transcripts import conversation, recorded
from ullage.model.events import MessageAppended, Record, UsageReported
from ullage.model.message import Role
from ullage.service.conversation.projection import Projection
from ullage.tokens.calibration import Calibration
from ullage.tokens.counter import get_counter


@pytest.mark.parametrize(
    "name",
    [
        "claude_code_spotter/ae4a77f8-aedd-4bc1-888f-c94edc91af04.jsonl",
        "iso_bench_trae/gpt-5-2025-08-07__98f47f2a.trajectory.json",
        "mini_swe_gemini3/sympy__sympy-19040.traj.json",
    ],
)
def test_half_of_a_sessions_prompts_are_predicted_within_half_a_percent(name: str) -> None:
    path = conversation(name)
    transcript = recorded(path)
    counter = get_counter(transcript.model)
    session = Projection(counter, Calibration.prior(counter.error_share))
    expected: dict[str, int] = {}
    errors: list[float] = []
    for position, event in enumerate(transcript.events):
        match event:
            case MessageAppended(message=message) if message.role is Role.ASSISTANT:
                expected[message.id] = session.used
            case UsageReported(usage=usage, message_id=answer) if usage.prompt:
                errors.append(abs(expected[answer] - usage.prompt) / usage.prompt)
            case _:
                pass
        session.apply([Record(position=position, timestamp=position, event=event)])
    assert median(errors) <= 0.005
