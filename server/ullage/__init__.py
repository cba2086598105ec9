"""Ullage: knows how full a model's context is, warns in time, and compacts it without losing a message."""

# `typing` takes 4 ms to import, which `ullage statusline` doesn't have. Type checkers take this name for true.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ullage.app.telemetry import JsonLogFormatter as JsonLogFormatter
    from ullage.embed.compactors import CompositeStrategy as CompositeStrategy
    from ullage.embed.compactors import ContextCompactor as ContextCompactor
    from ullage.embed.compactors import ContextHistoryStorage as ContextHistoryStorage
    from ullage.embed.compactors import ContextUpdateApplicator as ContextUpdateApplicator
    from ullage.embed.compactors import FileReadOptimizer as FileReadOptimizer
    from ullage.embed.compactors import MemoryTool as MemoryTool
    from ullage.embed.compactors import OptimizationMetrics as OptimizationMetrics
    from ullage.embed.compactors import RangeTruncationStrategy as RangeTruncationStrategy
    from ullage.embed.compactors import SelectiveStrategy as SelectiveStrategy
    from ullage.embed.compactors import SlidingWindowStrategy as SlidingWindowStrategy
    from ullage.embed.compactors import SmartTruncationStrategy as SmartTruncationStrategy
    from ullage.embed.compactors import TokenBudgetStrategy as TokenBudgetStrategy
    from ullage.embed.compactors import ToolResultCompactor as ToolResultCompactor
    from ullage.embed.compactors import TruncationCalculator as TruncationCalculator
    from ullage.embed.compactors import TruncationStrategy as TruncationStrategy
    from ullage.embed.counters import ApproximateCounter as ApproximateCounter
    from ullage.embed.counters import ContextBudget as ContextBudget
    from ullage.embed.counters import ContextLimits as ContextLimits
    from ullage.embed.counters import ContextTracker as ContextTracker
    from ullage.embed.counters import TiktokenCounter as TiktokenCounter
    from ullage.embed.counters import TokenCounter as TokenCounter
    from ullage.embed.counters import get_counter as get_counter
    from ullage.embed.host import CompactionResult as CompactionResult
    from ullage.embed.host import ContextStats as ContextStats
    from ullage.embed.host import SearchResults as SearchResults
    from ullage.embed.host import SummaryTask as SummaryTask
    from ullage.embed.manager import AsyncContextManager as AsyncContextManager
    from ullage.embed.manager import ContextManager as ContextManager
    from ullage.embed.manager import ContextPool as ContextPool
    from ullage.formats.provider import read_messages as read_messages
    from ullage.formats.provider import write_request as write_request
    from ullage.model.errors import CannotFit as CannotFit
    from ullage.model.errors import ConcurrentAppend as ConcurrentAppend
    from ullage.model.errors import EditNotFound as EditNotFound
    from ullage.model.errors import InvalidRequest as InvalidRequest
    from ullage.model.errors import MessageNotFound as MessageNotFound
    from ullage.model.errors import NothingToCompact as NothingToCompact
    from ullage.model.errors import ProviderError as ProviderError
    from ullage.model.errors import SessionFollowed as SessionFollowed
    from ullage.model.errors import SessionNotFound as SessionNotFound
    from ullage.model.errors import StoreError as StoreError
    from ullage.model.errors import StoreTooNew as StoreTooNew
    from ullage.model.errors import StoreUnavailable as StoreUnavailable
    from ullage.model.errors import UllageError as UllageError
    from ullage.model.errors import WindowUnknown as WindowUnknown
    from ullage.model.message import Message as Message
    from ullage.model.message import Role as Role
    from ullage.model.settings import ContextSettings as ContextSettings
    from ullage.model.settings import SearchSettings as SearchSettings
    from ullage.model.settings import TruncationMode as TruncationMode
    from ullage.model.updates import CompactionSummaryChunk as CompactionSummaryChunk
    from ullage.model.updates import CompactionUpdate as CompactionUpdate
    from ullage.model.updates import Level as Level
    from ullage.model.updates import Notice as Notice
    from ullage.model.updates import SessionInfoUpdate as SessionInfoUpdate
    from ullage.model.updates import Severity as Severity
    from ullage.model.updates import Update as Update
    from ullage.model.updates import UsageUpdate as UsageUpdate
    from ullage.model.usage import UsageSource as UsageSource
    from ullage.service.archive.undo import HistoryEntry as HistoryEntry
    from ullage.service.ports.store import SearchHit as SearchHit
    from ullage.transcript.fold import EditInfo as EditInfo

# The only place of the version: hatchling reads it, and scripts/gen_protocol.py writes it into the extension.
__version__ = "0.1.0"

# Where each public name is at home. They are imported on first use: a server that starts needs none of them.
_HOMES = {
    "ApproximateCounter": "ullage.embed.counters",
    "AsyncContextManager": "ullage.embed.manager",
    "CannotFit": "ullage.model.errors",
    "CompactionResult": "ullage.embed.host",
    "CompactionSummaryChunk": "ullage.model.updates",
    "CompactionUpdate": "ullage.model.updates",
    "CompositeStrategy": "ullage.embed.compactors",
    "ConcurrentAppend": "ullage.model.errors",
    "ContextBudget": "ullage.embed.counters",
    "ContextCompactor": "ullage.embed.compactors",
    "ContextHistoryStorage": "ullage.embed.compactors",
    "ContextLimits": "ullage.embed.counters",
    "ContextManager": "ullage.embed.manager",
    "ContextPool": "ullage.embed.manager",
    "ContextSettings": "ullage.model.settings",
    "ContextStats": "ullage.embed.host",
    "ContextTracker": "ullage.embed.counters",
    "ContextUpdateApplicator": "ullage.embed.compactors",
    "EditInfo": "ullage.transcript.fold",
    "EditNotFound": "ullage.model.errors",
    "FileReadOptimizer": "ullage.embed.compactors",
    "HistoryEntry": "ullage.service.archive.undo",
    "InvalidRequest": "ullage.model.errors",
    "JsonLogFormatter": "ullage.app.telemetry",
    "Level": "ullage.model.updates",
    "MemoryTool": "ullage.embed.compactors",
    "Message": "ullage.model.message",
    "MessageNotFound": "ullage.model.errors",
    "NothingToCompact": "ullage.model.errors",
    "Notice": "ullage.model.updates",
    "OptimizationMetrics": "ullage.embed.compactors",
    "ProviderError": "ullage.model.errors",
    "RangeTruncationStrategy": "ullage.embed.compactors",
    "Role": "ullage.model.message",
    "SearchHit": "ullage.service.ports.store",
    "SearchResults": "ullage.embed.host",
    "SearchSettings": "ullage.model.settings",
    "SelectiveStrategy": "ullage.embed.compactors",
    "SessionFollowed": "ullage.model.errors",
    "SessionInfoUpdate": "ullage.model.updates",
    "SessionNotFound": "ullage.model.errors",
    "Severity": "ullage.model.updates",
    "SlidingWindowStrategy": "ullage.embed.compactors",
    "SmartTruncationStrategy": "ullage.embed.compactors",
    "StoreError": "ullage.model.errors",
    "StoreTooNew": "ullage.model.errors",
    "StoreUnavailable": "ullage.model.errors",
    "SummaryTask": "ullage.embed.host",
    "TiktokenCounter": "ullage.embed.counters",
    "TokenBudgetStrategy": "ullage.embed.compactors",
    "TokenCounter": "ullage.embed.counters",
    "ToolResultCompactor": "ullage.embed.compactors",
    "TruncationCalculator": "ullage.embed.compactors",
    "TruncationMode": "ullage.model.settings",
    "TruncationStrategy": "ullage.embed.compactors",
    "UllageError": "ullage.model.errors",
    "Update": "ullage.model.updates",
    "UsageSource": "ullage.model.usage",
    "UsageUpdate": "ullage.model.updates",
    "WindowUnknown": "ullage.model.errors",
    "get_counter": "ullage.embed.counters",
    "read_messages": "ullage.formats.provider",
    "write_request": "ullage.formats.provider",
}


def __getattr__(name: str) -> "Any":
    if name == "__all__":
        return list(_HOMES)
    if name not in _HOMES:
        raise AttributeError(f"module 'ullage' has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415

    return vars(import_module(_HOMES[name]))[name]


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
