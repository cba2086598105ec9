#!/usr/bin/env python3
"""Builds `server/ullage/catalog/data/models.json` from FILE, a JSON object {name: [provider, max_input, max_output]}.

Such a file is drawn from litellm's model table (MIT). The table mixes two meanings of `max_input` and fills in outputs
nobody published; this script settles both.
"""

import argparse
import json
import re
from pathlib import Path

TARGET = Path(__file__).resolve().parents[1] / "server" / "ullage" / "catalog" / "data" / "models.json"

Listed = tuple[str, int, int]
Entry = tuple[int, int, int | None]

# Of OpenAI's models these are listed with the whole window, of which the output is a part...
_LISTED_AS_TOTAL = re.compile(
    r"(gpt-5\.[45](?!-mini|-nano)|gpt-5(\.1-codex|-pro|\.6-cyber)|chat-latest$|(gpt-)?daybreak-red)"
)
# ...and those with one of these figures with the input part alone (400,000 and 1,050,000 less 128,000 of output).
_INPUT_PARTS = {272_000, 922_000}


def settle(name: str, provider: str, max_input: int, max_output: int) -> Entry:
    """[input, total, max output]: the longest prompt, the window for prompt and answer together, the longest answer."""
    output = None if max_output >= max_input else max_output
    if provider == "openai" and _LISTED_AS_TOTAL.match(name):
        return max_input - (output or 0), max_input, output
    if (provider == "openai" and max_input in _INPUT_PARTS) or provider == "gemini":
        # Gemini's limits of input and output stand side by side.
        return max_input, max_input + (output or 0), output
    return max_input, max_input, output


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path, metavar="FILE")
    listed: dict[str, Listed] = json.loads(parser.parse_args().file.read_text())
    entries = {name: settle(name, *facts) for name, facts in sorted(listed.items())}
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(entry)}" for name, entry in entries.items())
    TARGET.write_text(f"{{\n{lines}\n}}\n")
    print(f"{len(entries)} models in {TARGET.name}")


if __name__ == "__main__":
    main()
