"""`ullage cost`: what the conversations of a folder cost, each request once, from agents' own files."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest

from support.command_line import Ended, ullage_bytes
from support.foreign import to_lines

MINUTE = 60_000
BEGAN = 1_795_600_000_000
# Dollars for a million tokens of Claude Sonnet 4.5: input, read from the cache, written to it, output.
INPUT, READ, WRITE, OUTPUT = 3.0, 0.3, 3.75, 15.0


class Place:
    """A home folder with a project in it, and a store."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "ada"
        self.project = self.home / "weather"
        self.project.mkdir(parents=True)
        self._store = folder / "store.db"

    def put(self, name: str, *lines: dict[str, Any]) -> None:
        kept = self.home / ".claude" / "projects" / str(self.project).replace("/", "-") / name
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_bytes(to_lines(*lines))

    def line(self, number: int, session: str, after: int = 0, **more: Any) -> dict[str, Any]:
        at = datetime.fromtimestamp((BEGAN + after) / 1000, UTC)
        return {
            "type": "user",
            "uuid": f"u{number}",
            "parentUuid": f"u{number - 1}" if number > 1 else None,
            "sessionId": session,
            "version": "2.1.39",
            "cwd": str(self.project),
            "timestamp": f"{at:%Y-%m-%dT%H:%M:%S}.000Z",
            "isSidechain": False,
        } | more

    def ask(self, number: int, session: str, text: str, **more: Any) -> dict[str, Any]:
        return self.line(number, session, message={"role": "user", "content": text}, **more)

    def answer(self, number: int, session: str, after: int, read: int, wrote: int, **more: Any) -> dict[str, Any]:
        usage = {"input_tokens": 10, "cache_read_input_tokens": read, "cache_creation_input_tokens": wrote}
        message = {
            "id": f"msg_{session}_{number}",
            "role": "assistant",
            "model": "claude-sonnet-4-5",
            "content": [{"type": "text", "text": "Done."}],
            "usage": usage | {"output_tokens": 100},
        }
        return self.line(number, session, after, type="assistant", message=message, **more)

    def run(self, *arguments: str, columns: int = 100) -> Ended:
        env = {name: "" for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME")}
        env |= {"HOME": str(self.home), "USERPROFILE": str(self.home), "COLUMNS": str(columns), "PYTHONUTF8": "1"}
        return ullage_bytes("cost", *arguments, "--store", self._store, env=env, cwd=self.project)

    def json(self, *arguments: str) -> Any:
        ended = self.run(*arguments, "--json")
        assert ended.status == 0, ended.err.decode()
        return msgspec.json.decode(ended.out)


def dollars(read: int, wrote: int) -> float:
    return (10 * INPUT + read * READ + wrote * WRITE + 100 * OUTPUT) / 1_000_000


@pytest.fixture
def place(tmp_path: Path) -> Place:
    made = Place(tmp_path)
    made.put(
        "s1.jsonl",
        made.ask(1, "s1", "Why does it snow?"),
        made.answer(2, "s1", 0, 0, 100_000),
        made.answer(3, "s1", MINUTE, 100_000, 1_000),
        # Ten minutes later the cache is lost, and all is written again.
        made.answer(4, "s1", 11 * MINUTE, 0, 102_000),
        # The early form of a sub-agent: its lines are in the same file.
        made.ask(5, "s1", "Look for clouds.", isSidechain=True, parentUuid=None),
        made.answer(6, "s1", 12 * MINUTE, 0, 5_000, isSidechain=True),
    )
    # The form of today: a file of its own.
    made.put(
        "s1/subagents/agent-7.jsonl",
        made.ask(1, "s1", "Look for rain.", isSidechain=True, agentId="7"),
        made.answer(2, "s1-7", 13 * MINUTE, 0, 7_000, isSidechain=True, agentId="7"),
    )
    return made


WORK = dollars(0, 100_000) + dollars(100_000, 1_000) + dollars(0, 102_000)
SIDE = dollars(0, 5_000) + dollars(0, 7_000)


def test_the_total_is_what_all_requests_cost_and_says_for_what(place: Place) -> None:
    report = place.json()
    total = report["total"]
    assert total["sub_agents"] == pytest.approx(SIDE)
    assert total["work"] + total["cold"] == pytest.approx(WORK)
    # The ten tokens of input are no part of the cache.
    assert total["cold"] == pytest.approx(100_000 * (WRITE - READ) / 1_000_000, rel=0.02)
    assert total["cold"] == pytest.approx(report["cold_by_cause"]["idle"])
    assert (total["compactions"], total["requests"], total["unpriced"]) == (0, 5, 0)
    assert sum(day["work"] for day in report["days"]) == pytest.approx(total["work"])
    assert report["conversations"][0]["title"] == "Why does it snow?"


def test_a_resumed_copy_of_a_conversation_costs_nothing_again(place: Place) -> None:
    before = place.json()["total"]
    place.put(
        "s2.jsonl",
        place.ask(1, "s2", "Why does it snow?"),
        place.answer(2, "s1", 0, 0, 100_000, sessionId="s2"),
        place.answer(3, "s1", MINUTE, 100_000, 1_000, sessionId="s2"),
        place.answer(4, "s2", 60 * MINUTE, 100_000, 500),
    )
    total = place.json()["total"]
    assert total["requests"] == before["requests"] + 1
    assert sum(total[part] - before[part] for part in ("work", "cold")) == pytest.approx(dollars(100_000, 500))


def test_what_a_file_gains_is_counted_the_next_time(place: Place) -> None:
    assert place.json()["total"]["requests"] == 5
    place.put("s3.jsonl", place.ask(1, "s3", "And hail?"), place.answer(2, "s3", 0, 0, 300))
    assert place.json()["total"]["requests"] == 6
    more = place.answer(3, "s3", MINUTE, 300, 50)
    place.put("s3.jsonl", place.ask(1, "s3", "And hail?"), place.answer(2, "s3", 0, 0, 300), more)
    assert place.json()["total"]["requests"] == 7


def test_another_folder_s_conversations_are_only_in_the_list_of_all(place: Place) -> None:
    other = place.home / "other"
    other.mkdir()
    assert place.json("--cwd", str(other))["days"] == []
    empty = place.run("--cwd", str(other))
    assert b"No request of" in empty.out
    assert b"ullage cost --all" in empty.out
    assert place.json("--all")["total"] == place.json()["total"]


@pytest.mark.parametrize("columns", [40, 60, 80, 120])
def test_the_screen_has_a_line_for_each_day_and_fits(place: Place, columns: int) -> None:
    ended = place.run(columns=columns)
    lines = ended.out.decode().splitlines()
    assert max(map(len, lines[: lines.index("")])) <= columns
    assert f"${WORK + SIDE:,.2f}" in next(line for line in lines if line.startswith("Total"))
    assert any("after a pause" in line for line in lines)


def test_a_model_without_a_price_is_named_and_never_guessed(place: Place) -> None:
    line = place.answer(2, "s4", 0, 0, 300)
    line["message"]["model"] = "homemade-1"
    place.put("s4.jsonl", place.ask(1, "s4", "And fog?"), line)
    report = place.json()
    assert report["unpriced_models"] == {"homemade-1": 1}
    assert report["total"]["unpriced"] == 1
    assert "No list price: 1 request to homemade-1" in place.run().out.decode()
