"""Gemini CLI behind the proxy: its answer to a prompt contains a quota with the sum of the turn's requests."""

from collections.abc import Mapping
from typing import Any

from ullage.agents.accounts import prompt_and_answer
from ullage.agents.agent import AcpAgent, Occupancy
from ullage.model.json_values import as_object, as_objects, as_text


def _occupancy(result: Mapping[str, Any]) -> Occupancy | None:
    quota = as_object(as_object(result.get("_meta")).get("quota"))
    used = prompt_and_answer(as_object(quota.get("token_count")))
    models = as_objects(quota.get("model_usage"))
    if used is None:
        return None
    return Occupancy(used=used, model=as_text(models[-1].get("model")) if models else "", summed=True)


ACP = AcpAgent(compact_command="compress", occupancy_in_answer=_occupancy)
