"""What can be known about a coding agent, as one value.

Each agent has a folder with its own values; `table.py` lists the agents.
"""

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

from ullage.formats.transcripts.imported import Format


class Occupancy(Struct, frozen=True, kw_only=True):
    """The size of an agent's context as the agent reports it.

    `used` is in tokens. `size` is the window in tokens and `model` the model's name, if the agent gave them. If
    `summed` is true, `used` adds up all requests of a turn, so it is the context's size only if the turn had a single
    request.
    """

    used: int
    summed: bool = False
    size: int | None = None
    model: str = ""


def _no_occupancy(_: Mapping[str, Any]) -> Occupancy | None:
    return None


def _no_window(_: Mapping[str, Any]) -> int | None:
    return None


def _nothing_done(_: Mapping[str, Any]) -> bool:
    return False


def _no_text(_: Mapping[str, Any]) -> str:
    return ""


class AcpAgent(Struct, frozen=True, kw_only=True):
    """What an agent does behind the proxy in addition to the Agent Client Protocol.

    - `name`: the name that the agent gives itself when a connection is opened; empty if unknown.
    - `compact_command`: its slash command that compacts the context; empty if it has none.
    - `offers_command`: whether the agent lists that command among its own. Some agents have it and never list it.
    - `occupancy_in_update`: reads the context's size from a session update other than `usage_update`.
    - `occupancy_in_answer`: reads the context's size from the answer to a prompt.
    - `model_in_usage`: reads the model's name from a `usage_update`.
    - `window_of_model`: reads the window, in tokens, from a model that `session/new` lists.
    - `compaction_done`: says whether a session update reports that the agent has just compacted its context.
    - `tool_in_call`: reads the tool's own name from a tool call.

    The readers return None, False or "" if the message has no such addition.
    """

    name: str = ""
    compact_command: str = ""
    offers_command: bool = True
    occupancy_in_update: Callable[[Mapping[str, Any]], Occupancy | None] = _no_occupancy
    occupancy_in_answer: Callable[[Mapping[str, Any]], Occupancy | None] = _no_occupancy
    model_in_usage: Callable[[Mapping[str, Any]], str] = _no_text
    window_of_model: Callable[[Mapping[str, Any]], int | None] = _no_window
    compaction_done: Callable[[Mapping[str, Any]], bool] = _nothing_done
    tool_in_call: Callable[[Mapping[str, Any]], str] = _no_text


class Inserted(Struct, frozen=True, kw_only=True):
    """What an agent inserts into the user's messages. Tags and patterns are regular expressions.

    - `summary_openings`: the first words of the message with which the agent continues after its own compaction.
    - `not_typed`: patterns for the beginning of a text that the user has not typed.
    - `tags`: names of tags around inserted text.
    - `instruction_tags`: names of tags around standing instructions.
    - `reminder_tags`: names of tags that hold standing instructions if they contain one of `instruction_marks` or the
      name of an instruction file.
    """

    summary_openings: tuple[str, ...] = ()
    not_typed: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    instruction_tags: tuple[str, ...] = ()
    reminder_tags: tuple[str, ...] = ()
    instruction_marks: tuple[str, ...] = ()


class Agent(Struct, frozen=True, kw_only=True):
    """A coding agent.

    - `name`: the product's name.
    - `formats`: the transcript formats that it writes, the more specific first.
    - `acp`: what it does behind the proxy.
    - `inserted`: what it inserts into the user's messages.
    """

    name: str
    formats: tuple[Format, ...] = ()
    acp: AcpAgent = AcpAgent()
    inserted: Inserted = Inserted()
