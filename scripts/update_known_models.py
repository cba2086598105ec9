#!/usr/bin/env python3
"""Builds `server/ullage/known_models/data/models.json` from FILE, a JSON object {name: [provider, max_input,
max_output]}, and with --prices also `prices.json`, from litellm's model table itself. The table leaves out models that
are no longer served, and logs still name them: give tables of earlier versions after it, the newest first.

FILE is an extract of that table (MIT; `litellm/model_prices_and_context_window_backup.json` in its wheel), too. The
table uses `max_input` in two meanings and has outputs that the providers did not publish. This script corrects both.
Prices are the list prices of plain requests: not of batches or priority, and only for the shortest-lived caches.
"""

import argparse
import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

DATA = Path(__file__).resolve().parents[1] / "server" / "ullage" / "known_models" / "data"
TARGET = DATA / "models.json"
PRICES = DATA / "prices.json"

Listed = tuple[str, int, int]
Entry = tuple[int, int, int | None]
# [above, input, cache read, cache write, output]: prices in US dollars a million tokens, for prompts of more than
# `above` tokens.
Tier = tuple[int, float, float, float, float]

# The table lists these OpenAI models with the whole window, which includes the output...
_LISTED_AS_TOTAL = re.compile(
    r"(gpt-5\.[45](?!-mini|-nano)|gpt-5(\.1-codex|-pro|\.6-cyber)|chat-latest$|(gpt-)?daybreak-red)"
)
# ...and models with one of these figures with the input part alone (400,000 and 1,050,000 less 128,000 of output).
_INPUT_PARTS = {272_000, 922_000}
_STEP = re.compile(r"input_cost_per_token_above_(\d+)k_tokens")


def settle(name: str, provider: str, max_input: int, max_output: int) -> Entry:
    """Returns [input, total, max output]: the longest prompt, the window for prompt and answer together, the longest
    answer."""
    output = None if max_output >= max_input else max_output
    if provider == "openai" and _LISTED_AS_TOTAL.match(name):
        return max_input - (output or 0), max_input, output
    if (provider == "openai" and max_input in _INPUT_PARTS) or provider == "gemini":
        # Gemini's limits of input and output are separate.
        return max_input, max_input + (output or 0), output
    return max_input, max_input, output


def tiers(entry: Mapping[str, Any]) -> list[Tier]:
    """Returns a model's prices, or none if the table lacks the price of input or output, or has tiers in another
    form. If a cache has no price of its own, reading and writing it costs what input costs."""
    if "tiered_pricing" in entry:
        return []
    steps = sorted({0, *(int(match[1]) * 1_000 for key in entry if (match := _STEP.fullmatch(key)))})
    found = [_tier(entry, step) for step in steps]
    return found if all(tier[1] and tier[4] for tier in found) else []


def _names_its_provider(name: str, entry: Mapping[str, Any]) -> bool:
    """Whether only the provider in the entry serves the model. Several providers serve an open model, at different
    prices."""
    return "/" in name or entry.get("litellm_provider") in ("anthropic", "openai")


def _was_sold(name: str, entry: Mapping[str, Any]) -> bool:
    """Whether an earlier table's model answered messages, was served by its maker, and was one model all the time."""
    is_chat = entry.get("mode") == "chat" and not name.endswith("-latest")
    return is_chat and entry.get("litellm_provider") in ("anthropic", "openai", "gemini")


def _tier(entry: Mapping[str, Any], above: int) -> Tier:
    suffix = f"_above_{above // 1_000}k_tokens" if above else ""

    def dollars(key: str, otherwise: float = 0.0) -> float:
        plain: float = entry.get(key) or 0.0
        price = entry.get(key + suffix) or plain
        return round(price * 1_000_000, 6) or otherwise

    paid = dollars("input_cost_per_token")
    read, written = dollars("cache_read_input_token_cost", paid), dollars("cache_creation_input_token_cost", paid)
    return above, paid, read, written, dollars("output_cost_per_token")


def write(target: Path, entries: Mapping[str, object], before: str = "", after: str = "") -> None:
    """Writes the entries, one line per model, between two texts."""
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(entry)}" for name, entry in entries.items())
    target.write_text(f"{before}{{\n{lines}\n}}{after}\n", encoding="utf-8")
    print(f"{len(entries)} models in {target.name}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path, nargs="?", metavar="FILE")
    parser.add_argument("--prices", type=Path, nargs="+", metavar="TABLE")
    given = parser.parse_args()
    if given.file:
        listed: dict[str, Listed] = json.loads(given.file.read_text())
        write(TARGET, {name: settle(name, *facts) for name, facts in sorted(listed.items())})
    if given.prices:
        newest, *earlier = (json.loads(table.read_text()) for table in given.prices)
        known = json.loads(TARGET.read_text())
        priced = {
            name: tiers(newest[name]) for name in known if name in newest and _names_its_provider(name, newest[name])
        }
        for table in reversed(earlier):
            priced |= {
                name: tiers(entry) for name, entry in table.items() if name not in newest and _was_sold(name, entry)
            }
        found = {name: found for name, found in sorted(priced.items()) if found}
        write(PRICES, found, f'{{"date": "{datetime.now(UTC):%Y-%m-%d}", "prices": ', "}")


if __name__ == "__main__":
    main()
