"""The limits that users set for conversations, whatever the window."""

from collections.abc import Sequence

from ullage.model.figure import Remark, RemarkKind
from ullage.model.settings import Limit
from ullage.model.words import dollars


def passed(limits: Sequence[Limit], agent: str, cwd: str, used: int, cost: float | None) -> tuple[Remark, ...]:
    """Returns a remark for each limit that a conversation has passed: of the tokens in its context, `used`, and of
    what it has cost in US dollars, None if that is not known. `agent` is the name of the agent that has it, and `cwd`
    its folder. Of several limits that fit, the one for the innermost folder counts, then one for the agent, then
    the last."""
    fitting = sorted(
        (limit for limit in limits if _fits(limit, agent, cwd)), key=lambda one: (len(one.folder), one.agent != "")
    )
    tokens = next((limit.tokens for limit in reversed(fitting) if limit.tokens is not None), None)
    most = next((limit.cost for limit in reversed(fitting) if limit.cost is not None), None)
    remarks: list[Remark] = []
    if tokens is not None and used >= tokens:
        remarks.append(Remark(kind=RemarkKind.LIMIT, text=f"It has passed your own limit of {tokens:,} tokens."))
    if most is not None and cost is not None and cost >= most:
        remarks.append(Remark(kind=RemarkKind.LIMIT, text=f"It has cost more than your own limit of {dollars(most)}."))
    return tuple(remarks)


def _fits(limit: Limit, agent: str, cwd: str) -> bool:
    folder, place = _path(limit.folder), _path(cwd)
    is_there = not folder or place == folder or place.startswith(f"{folder}/")
    return is_there and (not limit.agent or _word(limit.agent) == _word(agent))


def _path(text: str) -> str:
    return text.replace("\\", "/").rstrip("/")


def _word(name: str) -> str:
    return name.lower().replace(" ", "-")
