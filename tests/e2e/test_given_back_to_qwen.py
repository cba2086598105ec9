"""The real Qwen Code with a model on the loopback, and what `ullage wire` adds: the request for its summary has what
must be kept, and the prompt after it what the summary left out, once."""

import html
import json
from collections.abc import Mapping
from functools import partial
from pathlib import Path

import pytest
from msgspec.structs import replace

from support.agents.launch import need
from support.agents.model_server import SUMMARY, ModelServer
from support.agents.runs import ONE_SHOTS
from support.command_line import ullage
from support.hook_place import TRIES, arrivals_at
from support.systems import needs_linux
from ullage.lost.left_out import HEAD

RULE = "Never touch the port 8443, because src/shop/proxy.py expects it."
DECISION = "The port stays 8443 and the second one becomes 8444, which nothing else listens on."
(_SHOT,) = [shot for shot in ONE_SHOTS if shot.known.name == "qwen"]


def _prepare(home: Path, url: str) -> Mapping[str, str]:
    """Configures Qwen Code once: what was added to its settings since stays."""
    known = settings(home).read_bytes() if settings(home).exists() else None
    variables = _SHOT.known.prepare(home, url)
    if known is not None:
        settings(home).write_bytes(known)
    return variables


QWEN = replace(_SHOT, known=replace(_SHOT.known, prepare=_prepare))


def settings(home: Path) -> Path:
    return home / ".qwen" / "settings.json"


def lines_of(asked: str) -> list[str]:
    """Returns the lines in a request's texts. Qwen Code escapes what could be taken for its own tags."""
    return html.unescape(asked.replace("\\n", "\n")).splitlines()


@pytest.mark.long
@needs_linux
async def test_a_summary_of_qwen_code_is_steered_and_the_prompt_after_it_has_what_it_left_out(tmp_path: Path) -> None:
    need(QWEN.known)
    store, model = tmp_path / "store.db", ModelServer()
    model.summary, model.summary_words = f"<state_snapshot>{SUMMARY}</state_snapshot>", ("<state_snapshot>",)
    async with model.serving():
        launch = QWEN.known.launch(tmp_path, model.url)
        # At its first start Qwen Code writes its settings in another order.
        await QWEN.ask(tmp_path, model.url, RULE, again=False)
        before = settings(tmp_path).read_bytes()
        variables = {"HOME": launch.environment["HOME"], "QWEN_HOME": ""}
        assert ullage("wire", "qwen-code", "--yes", "--store", store, env=variables).status == 0
        assert json.loads(settings(tmp_path).read_text())["hooks"].keys() == {"PreCompact", "UserPromptSubmit"}

        ask = partial(QWEN.request_with, tmp_path, model)

        model.words, model.inflated, model.until_summary = f"\n\n{DECISION}", 40_000, True
        await ask("Which port is the second one?")
        model.words = ""
        await ask("And the one beside it?")
        (steered,) = [asked for asked in model.asked if "The summary must keep what follows" in asked]
        assert f"> #1 {RULE}" in lines_of(steered)
        # On a busy machine the brief comes with a later prompt.
        given = ""
        for number in range(TRIES):
            given = await ask(f"And number {number}?")
            if HEAD[:40] in given:
                break
        assert any(DECISION in line for line in lines_of(given) if line.startswith("> "))
        assert (await ask("And the last one?")).count(DECISION) == 1
    rows = arrivals_at(store)
    assert [row["outcome"] for row in rows if row["event"] == "UserPromptSubmit" and row["outcome"] != "late"] == [
        "given"
    ]
    assert ullage("unwire", "--yes", "--store", store, env=variables).status == 0
    assert settings(tmp_path).read_bytes() == before
