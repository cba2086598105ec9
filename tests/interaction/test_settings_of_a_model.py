"""Context settings of one model's sessions."""

import pytest

from support.workspace import build_test_client
from ullage.api.session_methods import read_settings
from ullage.model.errors import InvalidRequest


async def test_a_model_has_its_own_thresholds_and_strategies() -> None:
    strategies = [{"type": "sliding_window", "maxMessages": 4}]
    settings = read_settings(
        {"context": {"keepToolUses": 1}, "models": {"gpt-4": {"context": {"mode": "smart", "strategies": strategies}}}}
    )
    client = build_test_client(settings=settings)
    found: dict[str, object] = {}
    for model in ("gpt-4", "gpt-4o"):
        session_id = (await client.call("session/new", model=model))["sessionId"]
        configured = await client.call("session/configure", sessionId=session_id, context={"warnAt": 0.7})
        found[model] = [configured["context"][name] for name in ("mode", "strategies", "keepToolUses", "warnAt")]
    assert found == {"gpt-4": ["smart", strategies, 1, 0.7], "gpt-4o": ["summarize", [], 1, 0.7]}


@pytest.mark.parametrize(
    ("context", "fault"),
    [
        ({"warnAt": 2}, r"\$\.models\.gpt-4 cannot be used \(expected `float` < 1\.0 at `\$\.warnAt`\)"),
        ({"warmAt": 0.5}, "there is no setting 'warmAt'"),
        ({"warnAt": 0.95}, r"ullage\.models\.gpt-4: context\.warnAt \(0\.95\) must be at most context\.compactAt"),
    ],
)
def test_wrong_settings_of_a_model_are_refused_by_name(context: dict[str, float], fault: str) -> None:
    with pytest.raises(InvalidRequest, match=fault):
        read_settings({"models": {"gpt-4": {"context": context}}})
