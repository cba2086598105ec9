"""An agent in process whose model plays a script."""

from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from support.acp_rig import AcpRig
from ullage.app.acp_agent import make_agent
from ullage.model.settings import ContextSettings, ModelSettings, ProviderSettings, Settings

MODEL = "gpt-4o"
ALLOW: dict[str, Any] = {"outcome": {"outcome": "selected", "optionId": "allow_once"}}
REJECT: dict[str, Any] = {"outcome": {"outcome": "selected", "optionId": "reject_once"}}
Given = ParamSpec("Given")
Rig = TypeVar("Rig", bound=AcpRig)


class PlayingRig(AcpRig):
    """A rig whose model plays a script, with its store in a folder. `window` is the model's, if not that of the
    catalog."""

    def __init__(
        self, folder: Path, script: str, context: ContextSettings | None = None, window: int | None = None
    ) -> None:
        (folder / "script.txt").write_text(script)
        provider = ProviderSettings(kind="scripted", file=str(folder / "script.txt"), models=(MODEL,))
        settings = Settings(
            model=MODEL,
            models={MODEL: ModelSettings(window=window)},
            providers={"script": provider},
            context=context or ContextSettings(),
        )
        closing = AsyncExitStack()
        super().__init__(make_agent(closing, folder / "sessions.db", settings), closing)


@asynccontextmanager
async def rigs_by(make: Callable[Given, Rig]) -> AsyncGenerator[Callable[Given, Rig]]:
    """Yields a function that makes rigs as `make` does. At the end of the block they hang up, and every message that
    they sent must have fitted the official schema."""
    rigs: list[Rig] = []

    def made(*args: Given.args, **kwargs: Given.kwargs) -> Rig:
        rigs.append(make(*args, **kwargs))
        return rigs[-1]

    yield made
    for rig in rigs:
        await rig.hang_up()
        assert rig.faults == []
