"""Every number that decides what a summary holds, each with its source."""

from msgspec import Struct


class Tuning(Struct, frozen=True, kw_only=True):
    """Weights and shares of the offline summary."""

    base: float = -0.5
    written: float = 0.9
    said: float = 0.45
    called: float = 0.2
    seen: float = -0.2
    distance: float = -0.45
    distance_characters: float = 4.0
    full_weight: float = 8.0
    focus_factor: float = 3.0
    carried_weight: float = 4.0
    unknown_weight: float = 0.5

    ledger_share: float = 0.15
    task_share: float = 0.16
    plan_share: float = 0.1
    state_share: float = 0.05
    recent_share: float = 0.1
    next_share: float = 0.06
    instructions_share: float = 0.08
    requests_share: float = 0.14
    constraints_share: float = 0.08
    focus_share: float = 0.3
    carried_share: float = 0.4
    errors_share: float = 0.1
    findings_share: float = 0.3
    hints_share: float = 0.04
    fillings: int = 3

    again: float = 0.02
    characters_per_token: float = 3.4
    entry_cost: float = 3.0
    patience: int = 60

    chatter_scale: float = 0.5
    agent_value: float = 0.1
    thinking_value: float = 0.03
    call_value: float = 0.1
    result_value: float = 0.01
    most_cues: int = 4
    error_value: float = 3.0
    error_test: float = 2.0
    error_looks: float = -1.5
    request_scale: float = 0.2
    instruction_value: float = 1.0
    forbids: int = 3
    carried_value: float = 1.0
    seniority: float = 0.8
    identifier_recency: float = 2.0

    prompt_worth: float = 3.0
    referred_worth: float = 2.0
    referred_half: float = 3.0


TUNING = Tuning()
