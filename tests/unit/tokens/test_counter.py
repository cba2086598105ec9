"""Counting text with a packed vocabulary, and the inputs that break tokenizers."""

import base64
import hashlib
import logging
from statistics import median

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.transcripts import conversation, recorded
from ullage.model.events import MessageAppended, Record, UsageReported
from ullage.model.message import Role
from ullage.service.conversation.projection import Projection
from ullage.tokens.calibration import Calibration
from ullage.tokens.counter import (
    LONGEST,
    TARGET,
    ApproximateCounter,
    CounterRegistry,
    PieceCache,
    TiktokenCounter,
    count_piece,
    cut,
    get_counter,
    key_of,
)
from ullage.tokens.families import Family, family_of
from ullage.tokens.vocabulary import SPECS, load_encoding, pack, read_tokens, unpack, warm_up

EXACT = TiktokenCounter(Family(name="exact"))


def test_text_counts_as_tiktoken_counts_it() -> None:
    text = "def f(x):\n    return x  # größer\n\n" * 500
    assert EXACT.count(text) == len(load_encoding("o200k_base").encode_ordinary(text))


def test_empty_text_has_no_tokens() -> None:
    assert EXACT.count("") == 0


@pytest.mark.parametrize("spelling", ["<|endoftext|>", "<|endofprompt|>", "<|im_start|>"])
def test_spelling_of_a_special_token_counts_as_text(spelling: str) -> None:
    assert EXACT.count(spelling) > 3


@pytest.mark.parametrize(
    ("text", "least", "most"),
    [
        (" " * 1_000_011 + "x", 1_000, 20_000),
        ("a" * 1_000_000, 100_000, 200_000),
        ("0123456789" * 100_000, 330_000, 340_000),
        ("\n" * 1_000_000, 1_000, 100_000),
        ("漢" * 200_000, 200_000, 400_000),
    ],
    ids=["spaces", "one letter", "digits", "newlines", "CJK"],
)
def test_a_megabyte_in_one_line_is_counted(text: str, least: int, most: int) -> None:
    assert least <= EXACT.count(text) <= most


def test_a_panic_of_the_tokenizer_is_an_upper_bound() -> None:
    spaces = " " * 1_000_000
    assert count_piece(load_encoding("o200k_base"), spaces) in (len(spaces), 7_813, 7_812)


@pytest.mark.parametrize("text", ["\ud800", "a\udfffb", "\udc00\ud800", "\ud83d"])
def test_lone_surrogates_are_counted(text: str) -> None:
    assert EXACT.count(text) > 0


def test_a_surrogate_pair_counts_as_the_character_it_means() -> None:
    assert EXACT.count("\ud83d\ude00") == EXACT.count("😀")


def test_name_says_what_a_count_is_scaled_by() -> None:
    assert EXACT.name == "o200k_base"
    assert TiktokenCounter(family_of("claude-sonnet-4-5")).name == "o200k_base×1.18"


def test_a_family_without_a_public_tokenizer_states_its_error() -> None:
    assert TiktokenCounter(family_of("claude-sonnet-4-5")).error_share > 0
    assert EXACT.error_share == 0


# The packed vocabularies


@pytest.mark.parametrize("name", SPECS)
def test_packed_vocabulary_is_the_published_file(name: str) -> None:
    published = hashlib.sha256()
    for rank, token in enumerate(read_tokens(name)):
        published.update(base64.b64encode(token) + b" %d\n" % rank)
    assert published.hexdigest() == SPECS[name].sha256


def test_unpacking_is_the_inverse_of_packing() -> None:
    tokens = [b"a", b"", b"longer", bytes(range(128))]
    assert unpack(pack(tokens)) == tokens


def test_encoding_gives_the_ids_openai_documents() -> None:
    assert load_encoding("cl100k_base").encode_ordinary("hello world") == [15339, 1917]
    assert load_encoding("o200k_base").encode_ordinary("hello world") == [24912, 2375]


def test_encoding_is_built_once_per_process() -> None:
    warm_up()
    assert load_encoding("o200k_base") is load_encoding("o200k_base")


# Cutting text into pieces and caching their counts


def test_appending_leaves_earlier_pieces_as_they_were() -> None:
    text = "a line of text\n" * 1_000
    assert list(cut(text + "more\n" * 500))[: len(list(cut(text))) - 1] == list(cut(text))[:-1]


def test_pieces_are_never_longer_than_the_tokenizer_stands() -> None:
    assert max(map(len, cut("x" * 10 * LONGEST))) <= LONGEST
    assert LONGEST * 4 <= 128_000


def test_no_cut_before_whitespace_or_a_slash() -> None:
    text = ("x" * TARGET + "\n/") * 3 + ("y" * TARGET + "\n ") * 3
    assert len(list(cut(text))) == 1


def test_cache_forgets_what_was_used_longest_ago() -> None:
    cache: PieceCache[int] = PieceCache(entries=2)
    cache.put(1, 10)
    cache.put(2, 20)
    assert cache.get(1) == 10
    cache.put(3, 30)
    assert (cache.get(1), cache.get(2), cache.get(3), len(cache)) == (10, None, 30, 2)


@given(st.lists(st.text(), unique=True), st.lists(st.integers(0, 2**60), min_size=1, max_size=2, unique=True))
def test_each_text_has_a_key_of_its_own_for_each_salt(texts: list[str], salts: list[int]) -> None:
    keys = [key_of(text, salt) for text in texts for salt in salts if text]
    assert len(set(keys)) == len(keys)
    assert keys == [key_of(text, salt) for text in texts for salt in salts if text]


# The counter that a model gets


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("gpt-4", "cl100k_base"),
        ("gpt-3.5-turbo-0125", "cl100k_base"),
        ("gpt-4o-2024-08-06", "o200k_base"),
        ("gpt-5-2025-08-07", "o200k_base"),
        ("gpt-5-codex", "o200k_base"),
        ("gpt-6-sol", "o200k_base"),
        ("o3-mini", "o200k_base"),
        ("gpt-oss:20b", "o200k_base"),
        ("claude-opus-4-6", "o200k_base×1.18"),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", "o200k_base×1.18"),
        ("us-anthropic-claude-sonn", "o200k_base×1.18"),
        ("claude-opus-4-7", "o200k_base×1.53"),
        ("google/gemini-3-pro-preview", "o200k_base×1.20"),
        ("litellm_proxy/deepseek/deepseek-chat", "o200k_base×1.05"),
    ],
)
def test_model_is_counted_with(model: str, name: str) -> None:
    assert get_counter(model).name == name


def test_models_of_one_family_share_a_counter() -> None:
    assert get_counter("gpt-4o") is get_counter("openai/gpt-4o-2024-08-06")


def test_unknown_model_is_counted_and_says_that_it_is_uncertain() -> None:
    assert get_counter("nobody/knows-this").error_share >= 0.1


def test_encoding_given_is_used_as_exact() -> None:
    counter = get_counter("claude-sonnet-4-5", "cl100k_base")
    assert (counter.name, counter.error_share) == ("cl100k_base", 0.0)
    assert get_counter("gpt-4o", "approximate").name == "approximate"


def refuse(family: Family) -> TiktokenCounter:
    raise OSError(f"no vocabulary for {family.name}")


def test_without_vocabulary_counts_are_approximate_and_one_warning_says_so(caplog: pytest.LogCaptureFixture) -> None:
    registry = CounterRegistry(make_exact=refuse)
    with caplog.at_level(logging.WARNING):
        counters = [registry.get_counter(model) for model in ("gpt-4o", "claude-sonnet-4-5", "gpt-4o")]
    assert all(isinstance(counter, ApproximateCounter) for counter in counters)
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "no vocabulary" in caplog.text


# The predicted size of the next prompt on recorded conversations


@pytest.mark.parametrize(
    "name",
    [
        "claude_code_spotter/ae4a77f8-aedd-4bc1-888f-c94edc91af04.jsonl",
        "iso_bench_trae/gpt-5-2025-08-07__98f47f2a.trajectory.json",
        "mini_swe_gemini3/sympy__sympy-19040.traj.json",
    ],
)
def test_half_of_a_sessions_prompts_are_predicted_within_half_a_percent(name: str) -> None:
    path = conversation(name)
    transcript = recorded(path)
    counter = get_counter(transcript.model)
    session = Projection(counter, Calibration.prior(counter.error_share))
    expected: dict[str, int] = {}
    errors: list[float] = []
    for position, event in enumerate(transcript.events):
        match event:
            case MessageAppended(message=message) if message.role is Role.ASSISTANT:
                expected[message.id] = session.used
            case UsageReported(usage=usage, message_id=answer) if usage.prompt:
                errors.append(abs(expected[answer] - usage.prompt) / usage.prompt)
            case _:
                pass
        session.apply([Record(position=position, timestamp=position, event=event)])
    assert median(errors) <= 0.005
