"""How long the provider keeps the last prompt in its cache, what the next prompt costs until then and after it, and
when an agent compacts before that."""

from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import replace

from ullage.agents.own_context import Idle
from ullage.model.events import CompactionEdit, ContextEdited, EditReverted, Event, ModelChanged, UsageReported
from ullage.model.message import Message, Role, ToolUseBlock
from ullage.model.usage import CacheMiss, CacheMissCause, CacheSource, IdleCompaction, PromptCache, Usage

_MINUTE = 60_000
# Anthropic keeps a prompt for five minutes or an hour after its last use, by what was asked with the request ("Prompt
# caching" in its documentation); the report says which.
_FIVE_MINUTES, _HOUR = 5 * _MINUTE, 60 * _MINUTE
# A request reads all of the last prompt, or no more than what stands before the conversation. In 2,900 recorded
# requests after another one there were 12 between a third and nine tenths.
_HIT = 0.5
# Milliseconds. That a prompt was still there after less says nothing about the next one, which a person types.
_TELLS = _MINUTE
# Decimals of a dollar. Smaller digits are rounding errors.
_DECIMALS = 6


class CachedPrompt(Struct, frozen=True, kw_only=True):
    """What the reports of a log show of the provider's cache.

    `at` is the time of the last report in Unix milliseconds, 0 if there is none with a time, and `answer` the message
    that it belongs to. `prompt` are the tokens of its prompt, and `tokens` those of them that the cache holds. `writes`
    says that the provider reports what it writes to its cache, and `keeps` how many milliseconds it keeps that: what it
    promises if it reports the writing, else the longest pause after which it was still there; 0 if nothing shows it.
    `changed` is what has replaced the prompt since the last report, if something did. `miss` is the last request
    that found nothing of what the one before it had left.
    """

    at: int = 0
    answer: str = ""
    prompt: int = 0
    tokens: int = 0
    writes: bool = False
    keeps: int = 0
    changed: CacheMissCause | None = None
    miss: CacheMiss | None = None

    def after(self, event: Event, at: int) -> "CachedPrompt":
        """Returns the state after one more event, which was at the time `at` in Unix milliseconds, 0 if unknown."""
        match event:
            case UsageReported(usage=usage, message_id=answer) if usage.prompt and at:
                return self._report(usage, answer, at)
            case ContextEdited(edit=edit):
                compacted = isinstance(edit, CompactionEdit)
                return replace(self, changed=CacheMissCause.COMPACTION if compacted else CacheMissCause.MESSAGES)
            case EditReverted():
                return replace(self, changed=CacheMissCause.MESSAGES)
            case ModelChanged():
                return replace(self, changed=CacheMissCause.MODEL)
            case _:
                return self

    def _report(self, usage: Usage, answer: str, at: int) -> "CachedPrompt":
        written = usage.cache_creation_input_tokens
        held = usage.cache_read_input_tokens + written
        keeps = self.keeps
        if written:
            keeps = _HOUR if usage.cache_creation_1h_input_tokens else _FIVE_MINUTES
        state = replace(
            self,
            at=at,
            answer=answer,
            prompt=usage.prompt,
            # Without a report of what is written, all of the prompt is taken for written once something was read.
            tokens=held if written or self.writes else usage.prompt if usage.cache_read_input_tokens else 0,
            writes=self.writes or written > 0,
            keeps=keeps,
            changed=None,
        )
        if answer == self.answer or not self.tokens:
            return state
        pause = max(0, at - self.at)
        if usage.cache_read_input_tokens >= _HIT * self.tokens:
            return state if state.writes else replace(state, keeps=max(keeps, pause))
        miss = CacheMiss(at=at, cause=self._cause(usage, pause), tokens=usage.prompt - usage.cache_read_input_tokens)
        return replace(state, miss=miss)

    def _cause(self, usage: Usage, pause: int) -> CacheMissCause:
        if self.changed is not None:
            return self.changed
        if pause >= (self.keeps or _FIVE_MINUTES):
            return CacheMissCause.IDLE
        return CacheMissCause.MESSAGES if usage.cache_read_input_tokens else CacheMissCause.PREFIX


def prompt_usage(state: CachedPrompt, read: int, new: int) -> Usage:
    """Returns the usage of a request that reads `read` tokens from the cache and writes `new` as earlier ones did."""
    if not state.writes:
        return Usage(input_tokens=new, cache_read_input_tokens=read)
    return Usage(
        cache_read_input_tokens=read,
        cache_creation_input_tokens=new,
        cache_creation_1h_input_tokens=new if state.keeps == _HOUR else 0,
    )


def prompt_cache(state: CachedPrompt, used: int, cost: Callable[[Usage], float | None]) -> PromptCache | None:
    """Returns until when the last prompt is kept, and what the next request costs with a context of `used` tokens,
    without its answer. `cost` returns the price of a request in US dollars, None if it is not known.

    Returns None if no report shows a cache, and after a change of the prompt, because nothing of it is left then.
    """
    if not state.tokens or state.keeps < _TELLS or state.changed is not None or used <= 0:
        return None
    held = min(state.tokens, used)

    def price(read: int) -> float | None:
        amount = cost(prompt_usage(state, read, used - read))
        return None if amount is None else round(amount, _DECIMALS)

    return PromptCache(
        until=state.at + state.keeps,
        keeps=state.keeps,
        source=CacheSource.PROMISED if state.writes else CacheSource.SEEN,
        tokens=held,
        warm=price(held),
        cold=price(0),
        miss=state.miss,
    )


def idle_compaction(
    rule: Idle | None, cached: CachedPrompt, used: int, reported_at: int | None, last: Message | None
) -> IdleCompaction | None:
    """Returns the compaction that the agent will make because the conversation idles, before the provider's cache of
    the prompt is lost. Returns None if it will make none.

    `reported_at` is the time of the last report in Unix milliseconds, and `last` the last message. A conversation idles
    if this is an answer without calls: nothing else is due.
    """
    if rule is None or last is None or not reported_at or cached.keeps != _HOUR or used < rule.least:
        return None
    if last.role is not Role.ASSISTANT or any(isinstance(block, ToolUseBlock) for block in last.content):
        return None
    return IdleCompaction(at=reported_at + rule.after, setting=rule.setting)
