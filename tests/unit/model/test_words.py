import sys
from typing import Any

import pytest

from ullage.model import words
from ullage.model.events import RepeatedFile
from ullage.model.usage import CacheMiss, CacheMissCause, CacheSource, PromptCache, UsageSource


@pytest.mark.parametrize(
    ("tokens", "text"),
    [
        (0, "0"),
        (950, "950"),
        (1_000, "1K"),
        (4_210, "4.2K"),
        (9_949, "9.9K"),
        (9_950, "10K"),
        (40_500, "41K"),
        (58_432, "58K"),
        (999_499, "999K"),
        (999_500, "1M"),
        (1_250_000, "1.2M"),
    ],
)
def test_figures_are_short_in_tight_places(tokens: int, text: str) -> None:
    assert words.short(tokens) == text


@pytest.mark.parametrize(
    ("who", "when"),
    [
        ({}, "Compacts by itself"),
        ({"on_request": True}, "Due for compaction"),
        ({"asks": True}, "Asks to be compacted"),
    ],
)
def test_the_warning_says_how_full_it_is_and_when_it_compacts(who: dict[str, Any], when: str) -> None:
    warning = words.context_warning(131_200, 200_000, 144_000, **who)
    assert warning == f"Context 66% full (131K of 200K). {when} at 72% (144K)."


def test_a_context_over_the_threshold_is_not_said_to_compact_at_a_lower_figure() -> None:
    assert words.context_warning(968_000, 1_048_576, 944_000) == (
        "Context 92% full (968K of 1M). Due for compaction since 90% (944K)."
    )


def test_with_confirmation_no_notice_of_an_automatic_compaction_is_sent() -> None:
    assert words.compaction_due(145_000, 200_000) == (
        "Context 73% full (145K of 200K). Compact it now; it compacts by itself only when it overflows."
    )


def test_an_offline_summary_in_a_models_place_says_why() -> None:
    assert words.offline_summary_used("rate limit", 164_000, 38_000) == (
        "The model's summary failed (rate limit). Used the offline summary instead: 164K → 38K."
    )


def test_a_compaction_says_what_it_did_and_that_it_can_be_undone() -> None:
    assert words.compacted(45, 164_000, 31_000) == (
        "Compacted 45 messages: 164K → 31K. Everything is kept; undo any time."
    )
    assert words.compacted(1, 10, 5).startswith("Compacted 1 message: ")


def test_the_other_events_have_their_lines() -> None:
    assert words.auto_compacting(162_000) == "Compacting the context (162K)…"
    assert words.cleared("old tool results", 120_000, 80_000) == "Cleared old tool results: 120K → 80K. Undo any time."
    assert words.undone(31_000, 164_000) == "Undone: 31K → 164K."
    assert words.nothing_to_compact(6, 4_000).startswith("Nothing to compact: 6 messages, 4K tokens. The first and")
    assert words.nothing_to_compact(0, 0) == "Nothing to compact: 0 messages, 0 tokens."
    assert words.compaction_failed("x") == "Compaction failed: x"
    assert words.breaker_opened("failed 3 times in a row", "message 212", 61_000) == (
        "Automatic compaction stopped, it failed 3 times in a row: message 212 alone is 61K tokens. "
        "It starts again after a compaction by hand, or once three answers in a row end below the warning."
    )
    assert words.no_model().startswith("No model is configured.")


def test_the_context_line_says_the_share_or_that_no_limit_is_known() -> None:
    assert words.context_line(58_000, 128_000, UsageSource.REPORTED) == "Context: 45% (58K/128K tokens, reported)"
    assert words.context_line(58_000, None, UsageSource.STALE) == "Context: 58K tokens, limit unknown (stale)"


def test_repeated_reads_are_named_by_what_they_cost() -> None:
    files = [
        RepeatedFile(path=f"src/{name}.py", occurrences=n, tokens_saved=n * 1_000) for n, name in ((4, "a"), (2, "b"))
    ]
    assert words.repeated(files, 0.2) == (
        "20% of the context was file contents shown again later: src/a.py 4× (4K), src/b.py 2× (2K)."
    )
    assert words.repeated(files * 3, 0.2).endswith(", src/a.py 4× (4K), 3 more.")


def test_a_cached_prompt_is_said_with_its_end_and_both_prices() -> None:
    cache = PromptCache(
        until=1_000_000, keeps=300_000, source=CacheSource.PROMISED, tokens=91_000, warm=0.057, cold=1.9
    )
    said = words.next_prompt(cache, "14:32", 999_999)
    assert said == "warm until 14:32; the next prompt costs $0.06 until then, $1.90 after it"
    said = words.next_prompt(cache, "14:32", 1_000_000)
    assert said == "cold; the next prompt costs $1.90 ($0.06 while it is warm)"
    assert words.warm(cache, 1_000_000 - 61_000) == "warm 1 min"
    assert words.warm(cache, 999_000) == "warm 1 min"
    assert words.warm(cache, 1_000_000) == "cold"


def test_a_prompt_that_was_sent_in_the_future_is_not_said_to_be_warm() -> None:
    cache = PromptCache(until=10**13, keeps=300_000, source=CacheSource.PROMISED, tokens=91_000, warm=0.057, cold=1.9)
    assert words.warm(cache, 10**12) == ""
    assert words.warm(cache, 10**13 - 300_001) == "warm 5 min"


def test_amounts_that_nobody_acts_on_are_not_said() -> None:
    cache = PromptCache(until=9, keeps=9, source=CacheSource.PROMISED, tokens=900, warm=0.002, cold=0.04)
    assert words.next_prompt(cache, "14:32", 0) == "warm until 14:32"
    assert words.last_miss(CacheMiss(at=0, cause=CacheMissCause.COMPACTION, tokens=10)) == ""


def test_a_cache_that_is_not_promised_is_warm_at_least_until_its_end() -> None:
    cache = PromptCache(until=1_000_000, keeps=300_000, source=CacheSource.SEEN, tokens=91_000, warm=None, cold=None)
    assert words.next_prompt(cache, "14:32", 0) == "warm at least until 14:32: 91K tokens"
    assert words.next_prompt(cache, "14:32", 1_000_000) == "perhaps cold: 91K tokens"
    assert words.warm(cache, 1_000_000) == ""


@pytest.mark.parametrize("cause", CacheMissCause)
def test_each_cause_of_a_miss_has_its_words(cause: CacheMissCause) -> None:
    said = words.last_miss(CacheMiss(at=0, cause=cause, tokens=74_300))
    assert said.startswith("74K tokens were last paid in full again ")
    assert len(said) > len("74K tokens were last paid in full again ")


@pytest.mark.parametrize(
    ("amount", "text"), [(0, "$0.00"), (0.004, "under $0.01"), (0.005, "$0.01"), (1.9, "$1.90"), (1234.5, "$1,234.50")]
)
def test_money_is_said_in_cents(amount: float, text: str) -> None:
    assert words.dollars(amount) == text


@pytest.mark.parametrize(
    ("prefix", "has_pip", "command"),
    [
        ("/home/ada/.local/share/pipx/venvs/ullage", True, "pipx inject ullage 'keyring>=25'"),
        ("/opt/apps/venvs/ullage-next", True, "pipx inject ullage-next 'keyring>=25'"),
        ("/home/ada/.local/share/uv/tools/ullage", False, f"uv pip install --python {sys.executable} 'keyring>=25'"),
        ("/home/ada/env", True, f"{sys.executable} -m pip install 'keyring>=25'"),
    ],
)
def test_an_extra_is_added_by_what_ullage_was_installed_with(
    prefix: str, has_pip: bool, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "prefix", prefix)

    def find(_: str) -> object | None:
        return object() if has_pip else None

    monkeypatch.setattr(words, "find_spec", find)
    assert words.how_to_install("keyring") == f"`{command}`"


def test_a_program_without_a_python_has_no_extras(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    assert words.how_to_install("keyring").startswith("`pipx install '.[keyring]'` in a checkout")
