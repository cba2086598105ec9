"""What a prompt turn needs from outside: a provider of the model, tools, and somebody to ask for permission."""

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from typing import Protocol

from msgspec import Struct

from ullage.model.answer import Fragment, ModelRequest
from ullage.model.artifacts import ArtifactLedger
from ullage.model.blocks import SealedCompaction, ToolUseBlock
from ullage.model.message import ToolDefinition
from ullage.model.permission import PermissionAnswer
from ullage.model.price import Price
from ullage.model.settings import ModelSettings, Settings
from ullage.model.updates import ToolCall, ToolKind, ToolLocation
from ullage.summary.reading.text_reader import Reader
from ullage.summary.summary_request import SummaryRequest
from ullage.tokens.counter import TokenCounter


class ProviderCapabilities(Struct, frozen=True, kw_only=True):
    """What a provider can do for a model. Without `native_tools`, tools are described in text and read from it; one
    that `replays` knows nothing of the context, so that managing it would mean nothing. One that `manages_context`
    clears old tool uses itself where it is asked to, and compacts prompts of at least `compacts_from` tokens;
    one that `seals` gives what it made of them as data that only it can read.
    One that `caches_tool_choice` reads the whole conversation anew once tools are refused."""

    native_tools: bool = True
    counts_tokens: bool = False
    replays: bool = False
    manages_context: bool = False
    compacts_from: int | None = None
    seals: bool = False
    caches_tool_choice: bool = False


class Provider(Protocol):
    """A model behind an SDK, a server or a script.

    Every method raises the errors under `ProviderError` and no others, and ends its request at once when its task is
    cancelled or the stream is closed.
    """

    @property
    def name(self) -> str:
        """The provider's name in the settings: `anthropic`, `openai` or the user's own."""
        ...

    def capabilities(self, model: str, /) -> ProviderCapabilities:
        """What it can do for this model."""
        ...

    def stream(self, request: ModelRequest, /) -> AsyncGenerator[Fragment]:
        """The answer as it is written; ends after `Finished`. Close it (`contextlib.aclosing`) to end the request."""
        ...

    async def count_tokens(self, request: ModelRequest, /) -> int | None:
        """Tokens of the prompt by the provider's own count; None where it has none."""
        ...

    async def check(self, model: str, /) -> str:
        """One line that says the provider answers, for `ullage doctor`; raises what it would in use."""
        ...

    async def close(self) -> None:
        """Closes its connections; nothing can be asked of it afterwards."""
        ...


class Providers(Protocol):
    """Finds the provider of a model."""

    def __call__(self, model: str, settings: Settings, /) -> Provider:
        """The provider that the settings, else the model's name and the keys at hand, ask for. Raises
        `NoModelConfigured` where there is none, `SdkMissing` where its package isn't installed."""
        ...

    def name(self, model: str, settings: Settings, /) -> str:
        """The name of the provider that would be found; makes and imports nothing. Raises the same. May ask the
        system's keyring, which takes a moment the first time: for a thread."""
        ...

    async def close(self) -> None:
        """Closes every provider that was found."""
        ...


class ToolAbout(Struct, frozen=True, kw_only=True):
    """What a tool call is going to do, for the person."""

    title: str
    kind: ToolKind
    locations: tuple[ToolLocation, ...] = ()
    needs_permission: bool = False


class ToolOutcome(Struct, frozen=True, kw_only=True):
    """What a tool call returned to the model."""

    text: str
    is_error: bool = False


class Toolbox(Protocol):
    """The tools that a model may call in a prompt turn."""

    @property
    def definitions(self) -> tuple[ToolDefinition, ...]:
        """The tools as they are offered."""
        ...

    def describe(self, use: ToolUseBlock) -> ToolAbout:
        """What a call is going to do; never fails, whatever its input."""
        ...

    async def run(self, session_id: str, cwd: str, use: ToolUseBlock, /) -> ToolOutcome:
        """Makes a call. What goes wrong is an outcome for the model to read; cancelled with its task."""
        ...


class EditorFiles(Protocol):
    """The project's files as the person's editor holds them, unsaved changes included."""

    async def read_text(self, session_id: str, path: str) -> str | None:
        """The text of the file at an absolute path; None where the editor has none to give."""
        ...


class Permissions(Protocol):
    """Asks the person."""

    async def ask(self, session_id: str, call: ToolCall) -> PermissionAnswer:
        """What the person says to the call; the question is taken back when the task is cancelled."""
        ...


class ModelLimits(Protocol):
    """What is known of a model's windows, in tokens; None where nothing is."""

    @property
    def input(self) -> int | None:
        """Most tokens of a prompt."""
        ...

    @property
    def total(self) -> int | None:
        """Prompt and answer together."""
        ...

    @property
    def max_output(self) -> int | None:
        """Most tokens of an answer."""
        ...


class Catalog(Protocol):
    """Finds a model's limits."""

    def __call__(self, model: str, overrides: Mapping[str, ModelSettings], /) -> ModelLimits:
        """The limits of a model by any of its names; the person's overrides win."""
        ...


class Prices(Protocol):
    """Finds what a model costs."""

    def __call__(self, model: str, /) -> Price | None:
        """The price of a model by any of its names; None where it is not known."""
        ...


class SummaryStream(Struct, frozen=True, kw_only=True):
    """A summary on its way: the ledger, which code has made, and the text in pieces as it is written; `sealed`, if any,
    is what the provider made itself."""

    ledger: ArtifactLedger
    pieces: AsyncIterator[str]
    sealed: SealedCompaction | None = None


class Summarizer(Protocol):
    """Writes the summary of a compaction."""

    @property
    def name(self) -> str:
        """`offline`, or the model's name."""
        ...

    async def summarize(self, request: SummaryRequest, counter: TokenCounter, reader: Reader) -> SummaryStream:
        """Begins a summary; `reader` remembers what was read for others. Raises `ProviderError`, also while the pieces
        are read; cancelled with its task."""
        ...


class SummaryPrompts(Protocol):
    """Finds a person's own instructions for summaries by a model."""

    def __call__(self, cwd: str, prompt_file: str, /) -> tuple[str, ...]:
        """Those of the file that the settings name, and those of the project in `cwd`; none where there are none.
        Raises `InvalidRequest` for a named file that cannot be read."""
        ...
