"""Ullage: knows how full a model's context is, warns in time, and compacts it without losing a message."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ullage.catalog.limits import ContextLimits as ContextLimits
    from ullage.edits.strategies.choices import CompositeStrategy as CompositeStrategy
    from ullage.edits.strategies.choices import RangeTruncationStrategy as RangeTruncationStrategy
    from ullage.edits.strategies.choices import SelectiveStrategy as SelectiveStrategy
    from ullage.edits.strategies.choices import SlidingWindowStrategy as SlidingWindowStrategy
    from ullage.edits.strategies.choices import SmartTruncationStrategy as SmartTruncationStrategy
    from ullage.edits.strategies.choices import TokenBudgetStrategy as TokenBudgetStrategy
    from ullage.edits.strategies.truncation import TruncationStrategy as TruncationStrategy
    from ullage.embed.compactors import ContextCompactor as ContextCompactor
    from ullage.embed.compactors import ToolResultCompactor as ToolResultCompactor
    from ullage.embed.manager import ContextManager as ContextManager
    from ullage.embed.returned_values import CompactionResult as CompactionResult
    from ullage.embed.returned_values import ContextStats as ContextStats
    from ullage.embed.summarizer import SummaryTask as SummaryTask
    from ullage.formats.provider import read_messages as read_messages
    from ullage.formats.provider import write_request as write_request
    from ullage.model.settings import ContextSettings as ContextSettings
    from ullage.model.strategies import TruncationMode as TruncationMode
    from ullage.policy.budget import ContextBudget as ContextBudget
    from ullage.tokens.approximate import ApproximateCounter as ApproximateCounter
    from ullage.tokens.counter import TokenCounter as TokenCounter
    from ullage.tokens.counter_choice import get_counter as get_counter
    from ullage.tokens.tiktoken_counter import TiktokenCounter as TiktokenCounter
    from ullage.tokens.tracker import ContextTracker as ContextTracker

# The only place of the version: hatchling reads it, and scripts/gen_protocol.py writes it into the extension.
__version__ = "0.1.0"

# Where each public name is at home. They are imported on first use: a server that starts needs none of them.
_HOMES = {
    "ApproximateCounter": "ullage.tokens.approximate",
    "CompactionResult": "ullage.embed.returned_values",
    "CompositeStrategy": "ullage.edits.strategies.choices",
    "ContextBudget": "ullage.policy.budget",
    "ContextCompactor": "ullage.embed.compactors",
    "ContextLimits": "ullage.catalog.limits",
    "ContextManager": "ullage.embed.manager",
    "ContextSettings": "ullage.model.settings",
    "ContextStats": "ullage.embed.returned_values",
    "ContextTracker": "ullage.tokens.tracker",
    "RangeTruncationStrategy": "ullage.edits.strategies.choices",
    "SelectiveStrategy": "ullage.edits.strategies.choices",
    "SlidingWindowStrategy": "ullage.edits.strategies.choices",
    "SmartTruncationStrategy": "ullage.edits.strategies.choices",
    "SummaryTask": "ullage.embed.summarizer",
    "TiktokenCounter": "ullage.tokens.tiktoken_counter",
    "TokenBudgetStrategy": "ullage.edits.strategies.choices",
    "TokenCounter": "ullage.tokens.counter",
    "ToolResultCompactor": "ullage.embed.compactors",
    "TruncationMode": "ullage.model.strategies",
    "TruncationStrategy": "ullage.edits.strategies.truncation",
    "get_counter": "ullage.tokens.counter_choice",
    "read_messages": "ullage.formats.provider",
    "write_request": "ullage.formats.provider",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'ullage' has no attribute {name!r}")
    return vars(import_module(_HOMES[name]))[name]
