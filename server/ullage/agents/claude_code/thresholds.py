"""Where Claude Code compacts.

Measured on the `preTokens` of 73 recorded automatic compactions in windows of 200,000 tokens: 155,000 in the versions
2.0.76 to 2.1.20 (42 of them) and 167,000 in 2.1.25 to 2.1.42 (31); in 2.1.22 conversations continued beyond 155,000. By
trial with 2.1.197: that version compacts only two models by itself, and others if the user names a window. `/context`
of 2.1.316 shows that newer models are compacted again. The one compaction of an earlier version, 1.0.53, was at
154,566 after a call with 153,818.
"""

import re

from ullage.agents.claude_code.reattached import reattached
from ullage.agents.claude_code.windows import MILLION, USUAL, usual_window
from ullage.agents.own_context import Idle, OwnContext, Rule, Setup, Threshold, Without, switched_off, version_of

_FIRST_MEASURED = (1, 0, 53)
# Up to a version before this one the threshold was a share of the window less the answer.
_NO_SHARE, _SHARE = (2, 0, 76), 0.92
# From this version on less is kept free for the answer.
_LESS_RESERVE = (2, 1, 22)
_OLD_RESERVE, _RESERVE = 32_000, 20_000
# Kept free besides the answer.
_BUFFER = 13_000
# From a version between 2.1.42 and this one on, most models are compacted only after the provider refused a request.
_FEW_MODELS = (2, 1, 197)
_COMPACTED = re.compile(r"(opus|sonnet)-4-6")
_NOT_COMPACTED = re.compile(r"opus-4-[1578]|sonnet-4-5|haiku-4-5|fable-5(?!-)")
# From a version up to this one on, newer models are compacted again, in their window of a million.
_NEWER_MODELS = (2, 1, 316)
_COMPACTED_AGAIN = re.compile(r"opus-4-8|(opus|sonnet|haiku)-5-5")
# From a version between 2.1.286 and this one on, a conversation that idles is compacted: milliseconds after its last
# answer, and the sizes from which on.
_IDLES = (2, 1, 299)
_IDLE_AFTER = 54 * 60_000
_IDLE_USUAL, _IDLE_LEAST = 200_000, 100_000
# A smaller window in the settings counts as this one.
_SMALLEST = 100_000


def _threshold(setup: Setup) -> Threshold:
    version, given = version_of(setup.version), setup.given
    if not version or version < _FIRST_MEASURED:
        return None
    if given.automatic is False:
        return switched_off(given)
    if given.window is not None:
        window = max(_SMALLEST, min(given.window, setup.window))
        return _within(setup, window, f"{given.name('window')}: it", given.name("window"))
    is_newer = version >= _NEWER_MODELS and _COMPACTED_AGAIN.search(setup.model)
    if version >= _FEW_MODELS and not is_newer:
        if _NOT_COMPACTED.search(setup.model) or setup.window > USUAL or "[1m]" in setup.model:
            return _none(setup)
        if not _COMPACTED.search(setup.model):
            return None
    return _within(setup, setup.window, f"Claude Code {setup.version}")


def _none(setup: Setup) -> Without:
    """Returns that this model is not compacted in this version. A percentage in the settings changes nothing then."""
    basis = (
        f"Claude Code {setup.version} compacts {setup.model or 'this model'} only after the provider has refused a "
        "request as too long"
    )
    return Without(basis=basis, ignored=setup.given.name("share"))


def _within(setup: Setup, window: int, what: str, setting: str = "") -> Rule | None:
    """Returns the threshold within this window. A percentage in the settings can only lower it."""
    given, version = setup.given, version_of(setup.version)
    reserve = _RESERVE if version >= _LESS_RESERVE else _OLD_RESERVE
    kept = min(reserve, given.max_output or setup.max_output or reserve) + _BUFFER
    tokens = window - kept
    if version < _NO_SHARE:
        shared = int((window - _OLD_RESERVE) * _SHARE)
        basis = f"Claude Code 1.0.53 compacted at {_SHARE:.0%} of {window - _OLD_RESERVE:,} tokens"
        return Rule(tokens=shared, basis=basis) if shared > 0 else None
    if tokens <= 0:
        return None
    if given.share is None:
        return Rule(tokens=tokens, basis=f"{what} keeps {kept:,} tokens free", setting=setting)
    shared = int((window - reserve) * given.share)
    if shared < tokens:
        basis = f"{given.name('share')}, of {window - reserve:,} tokens"
        return Rule(tokens=max(1, shared), basis=basis, setting=given.name("share"))
    return Rule(tokens=tokens, basis=f"{what} keeps {kept:,} tokens free", setting=setting, ignored=given.name("share"))


def _idle(setup: Setup) -> Idle | None:
    """Returns when a conversation that idles is compacted: after nine tenths of the hour for which its prompt is cached
    (read in the program, 2.1.332)."""
    given = setup.given
    if version_of(setup.version) < _IDLES or given.automatic is False or given.idle is False:
        return None
    return Idle(
        after=_IDLE_AFTER,
        least=max(_IDLE_LEAST, _IDLE_USUAL if given.idle_least is None else given.idle_least),
        setting='"idleCompaction": false',
    )


OWN_CONTEXT = OwnContext(
    window=usual_window, wider=(MILLION,), threshold=_threshold, is_exact=True, idle=_idle, reattached=reattached
)
