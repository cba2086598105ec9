"""How the parts of a figure are known: the window, the threshold at which the context is compacted, and what is left.

Every value comes with its source, and with one line for the user that names the evidence. At the end are the rows in
which every list shows the conversations that agents have on this machine.
"""

from collections.abc import Iterable
from enum import StrEnum
from typing import Literal, TypeVar

from msgspec import Struct

from ullage.model.usage import HiddenPart, UsageSource


class WindowSource(StrEnum):
    """How a window is known.

    `settings`: the user's settings name it. `agent`: the agent that has the conversation says so. `log`: the
    conversation itself proves it, by its agent's compactions or by a reported prompt. `rule`: the agent gives this
    window to its models unless its user chose another; this conversation does not say. `catalog`: the list of models.
    """

    SETTINGS = "settings"
    AGENT = "agent"
    LOG = "log"
    RULE = "rule"
    CATALOG = "catalog"


class ThresholdSource(StrEnum):
    """How it is known at how many tokens the context is compacted.

    `ours`: Ullage compacts there. `settings`: the settings of the agent or of the user say so.
    `learned`: the agent's own automatic compactions show it. `rule`: agents of this kind and version do so.
    """

    OURS = "ours"
    SETTINGS = "settings"
    LEARNED = "learned"
    RULE = "rule"


class Keeper(StrEnum):
    """Who keeps the context within its window.

    `ullage`: Ullage does. `agent`: the agent that has the conversation does; Ullage reads the conversation and compacts
    it only if the user asks. `nobody`: automatic management is off, or no window is known.
    """

    ULLAGE = "ullage"
    AGENT = "agent"
    NOBODY = "nobody"


class KnownWindow(Struct, frozen=True, kw_only=True):
    """The window in tokens and how it is known. `basis` is the evidence, one line for the user. `contradiction`
    describes evidence against this window, null if there is none."""

    size: int
    source: WindowSource
    basis: str
    contradiction: str | None = None


class KnownThreshold(Struct, frozen=True, kw_only=True):
    """The number of tokens at which the context is compacted, and how that is known.

    `percent` is `tokens` as a percentage of the window. `times` is the number of compactions that the threshold was
    learned from, 0 if it was not learned. `basis` is the evidence, one line for the user.
    """

    tokens: int
    percent: int
    source: ThresholdSource
    basis: str
    times: int = 0


class RemarkKind(StrEnum):
    """What a remark on the threshold says.

    `no_threshold`: the agent does not compact this model's context by itself. `changed`: the threshold differs from the
    one that earlier compactions show. `no_effect`: a setting of the agent asks for another threshold, and the
    conversation shows that the agent does not follow it. `passed`: the conversation has gone on beyond the threshold,
    so the real one is not known. `uncertain`: a setting of the agent is about compaction, and its effect is not known.
    `limit`: the conversation has passed a limit of the user's own.
    """

    NO_THRESHOLD = "no_threshold"
    CHANGED = "changed"
    NO_EFFECT = "no_effect"
    PASSED = "passed"
    UNCERTAIN = "uncertain"
    LIMIT = "limit"


class Remark(Struct, frozen=True, kw_only=True):
    """What the user should know about the threshold at which the agent compacts, about its absence, or about a limit.
    `text` is one sentence."""

    kind: RemarkKind
    text: str


class IdleCompaction(Struct, frozen=True, kw_only=True):
    """A compaction that the agent makes by itself at the time `at` (Unix milliseconds), if it still runs and the user
    types nothing until then. `setting` is the setting of the agent that stops it."""

    at: int
    setting: str


class CacheSource(StrEnum):
    """How it is known how long a provider keeps a prompt in its cache. `promised`: by the kind of entry that the last
    report says it wrote. `seen`: the longest pause in this conversation after which the prompt was still there."""

    PROMISED = "promised"
    SEEN = "seen"


class CacheMissCause(StrEnum):
    """Why a request found nothing in the cache of what the one before it had left.

    `idle`: the pause was too long. `compaction`: a summary replaced messages. `model`: another model answered.
    `messages`: earlier messages were changed or left out, and only what precedes them was still there. `prefix`: the
    system prompt, the tools or the settings changed, or the provider dropped the prompt early.
    """

    IDLE = "idle"
    COMPACTION = "compaction"
    MODEL = "model"
    MESSAGES = "messages"
    PREFIX = "prefix"


class CacheMiss(Struct, frozen=True, kw_only=True):
    """A request at the time `at` (Unix milliseconds) whose `tokens` had to be read anew, and why."""

    at: int
    cause: CacheMissCause
    tokens: int


class PromptCache(Struct, frozen=True, kw_only=True):
    """The provider's cache of a conversation's last prompt.

    It is kept until the time `until` (Unix milliseconds), `keeps` milliseconds after its last use; `source` says how
    that is known. `tokens` is what it holds of the context. The next request costs `warm` US dollars until then and
    `cold` after it, both without its answer and by list prices; null if the model has none. `miss` is the last request
    that found nothing, null if none did.
    """

    until: int
    keeps: int
    source: CacheSource
    tokens: int
    warm: float | None
    cold: float | None
    miss: CacheMiss | None = None


class GoodMoment(Struct, frozen=True, kw_only=True):
    """A piece of work has ended with the commit that has the subject `work`, and nothing is open: the next piece can
    begin in a new session. That begins with at most `tokens` tokens, and its first prompt costs `cost` US dollars by
    list prices, null if the model has none. `at` is the time of the last answer in Unix milliseconds, 0 if unknown: the
    same time is the same moment."""

    at: int
    work: str
    tokens: int
    cost: float | None


class RateLimit(Struct, frozen=True, kw_only=True):
    """How much of a limit of the user's subscription is used, as an agent says it to its status line or in its log:
    `percent` of what is allowed in a time called `name`, such as `5h` or `7d`. `until` is when that time ends, in Unix
    milliseconds, null if unknown."""

    name: str
    percent: int
    until: int | None = None


class CallsLeft(Struct, frozen=True, kw_only=True):
    """An estimate of the number of model calls until the context is compacted, if it grows as it did recently. `mean`
    is the tokens left until then divided by the mean growth per call. In at least four of five cases the number is from
    `low` to `high`."""

    low: int
    mean: int
    high: int


class Nearness(StrEnum):
    """How near the compaction of a context is, or the end of the window where nothing compacts it. `imminent`: so few
    calls are left that a user who wants to act must act now; `near`: it is worth a look; `far`: neither."""

    FAR = "far"
    NEAR = "near"
    IMMINENT = "imminent"


class Hidden(Struct, frozen=True, kw_only=True):
    """The tokens of the context that the conversation does not contain: the system prompt and the tools of its agent or
    client. `tokens` equals the breakdown's `overhead`. `name` is what users see this part called. `parts` name what is
    known to be in it and sum to `tokens`; empty if nothing is."""

    tokens: int
    name: str
    parts: tuple[HiddenPart, ...] = ()


R = TypeVar("R", bound="FollowedRow")


class FollowedRow(Struct, frozen=True, kw_only=True):
    """A conversation that an agent has, and how full its context is. Sizes are tokens, times are Unix milliseconds; a
    value that is not known is null, and a text that is not known is empty.

    - `session_id`: its session in Ullage's store. `agent_session_id`: the agent's own id of it.
    - `agent`: the agent's name. `agent_short`: its name in a few characters, for a status bar. `path`: the agent's
      file. `cwd`: the folder in which the conversation began.
    - `parent`: for a sub-agent's conversation, the agent's own id of the one that started it: the `agent_session_id` of
      another row. Empty for any other.
    - `live`: whether the conversation continues. Its agent runs; or, if the agent doesn't say which process has which
      conversation, something was written less than 15 minutes ago.
    - `process_id`: the agent's process, if the agent says which it is.
    - `used`, `window`, `compacts_at`: the size of the context, and where it ends and is compacted; each with its
      source. `percent`: the used share of the window.
    - `calls_left`: the fewest and the most calls of the model until `compacts_at`, in four of five cases.
    - `idle`: a compaction that the agent makes because the conversation idles; null if it makes none.
    - `cache`: how long the provider keeps the last prompt, and what the next one costs; null if that is not known.
    - `moment`: that now is a good moment to go on in a new session; null if it is not.
    - `rate_limits`: what the agent said last of the limits of the user's subscription.
    - `nearness`: how near `compacts_at` is, or the end of the window if nothing compacts the context; null if
      that is not known, and once the conversation has ended.
    - `warnings`: what the user should know of the window and the threshold, one sentence each.
    - `updated_at`: the time of the last message or report.
    - `compact_command`: what a user types in the agent to compact the conversation. `takes_focus`: whether the agent
      takes what the summary must keep after it.
    """

    session_id: str
    agent: str
    agent_short: str = ""
    agent_session_id: str = ""
    title: str = ""
    cwd: str = ""
    path: str = ""
    parent: str = ""
    model: str = ""
    live: bool = False
    process_id: int | None = None
    used: int | None = None
    used_source: UsageSource | None = None
    percent: int | None = None
    window: int | None = None
    window_source: WindowSource | None = None
    compacts_at: int | None = None
    compacts_at_source: ThresholdSource | None = None
    calls_left: tuple[int, int] | None = None
    idle: IdleCompaction | None = None
    cache: PromptCache | None = None
    moment: GoodMoment | None = None
    rate_limits: tuple[RateLimit, ...] = ()
    nearness: Nearness | None = None
    messages: int | None = None
    warnings: tuple[str, ...] = ()
    updated_at: int = 0
    compact_command: str = ""
    takes_focus: bool = False


def without_children(rows: Iterable[R]) -> list[R]:
    """Returns the rows without those of sub-agents whose parent is among them."""
    rows = list(rows)
    known = {(row.agent, row.agent_session_id) for row in rows}
    return [row for row in rows if not (row.parent and (row.agent, row.parent) in known)]


class LiveSessions(Struct, frozen=True, kw_only=True):
    """The live file: what is followed on this machine, last changed first. Ullage's store has a name; this file has the
    same name with `.live.json` after it.

    `at` is the time at which the file was written, in Unix milliseconds, and `follower` the process that wrote it. If
    that process no longer runs, the file is not kept up to date. `desktop` says that it tells the user what is due by
    notifications of the operating system: an editor says only that a compaction is near. Programs may read the file; a
    new field may be added at any time, and `version` changes if one is removed or changed.
    """

    version: Literal[1] = 1
    at: int
    follower: int
    desktop: bool = False
    sessions: tuple[FollowedRow, ...]
