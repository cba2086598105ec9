"""The settings example, in which no setting has its default."""

from support.workspace import LARGE_MODEL
from ullage.model.settings import (
    ArchiveSettings,
    ContextSettings,
    HookSettings,
    Limit,
    ModelSettings,
    Notices,
    OfflineSettings,
    ProviderSettings,
    RangeKeep,
    SearchSettings,
    Settings,
    Smart,
    SummarySettings,
    TruncateRange,
    TruncationMode,
)

# The project folder of the examples' user.
PROJECT = "/home/ada/weather"

_MODEL = ModelSettings(
    window=32_768,
    max_output=4_096,
    encoding="cl100k_base",
    tool_syntax="caret",
    context={"warnAt": 0.7},
    summary_prompt="Write in French.",
)
_PROVIDER = ProviderSettings(
    kind="openai_chat",
    base_url="http://127.0.0.1:11434/v1",
    key_env="HOME_MODEL_KEY",
    models=("homemade-*",),
    native_tools=False,
)
_SUMMARY = SummarySettings(
    writer="model", model="claude-haiku-4-5", prompt_file="~/summary.md", prepare_at=0.6, confirm=True
)


def other_settings() -> Settings:
    """Returns settings of which none has its default."""
    return Settings(
        model=LARGE_MODEL,
        models={"homemade-model": _MODEL},
        provider="home",
        providers={"home": _PROVIDER},
        summary=_SUMMARY,
        context=ContextSettings(
            enabled=False,
            warn_at=0.7,
            compact_at=0.85,
            clear_at=0.6,
            target=0.4,
            reserve=8_000,
            keep_tail=6_000,
            keep_tool_uses=5,
            clear_at_least=10_000,
            exclude_tools=("read_plan",),
            clear_at_tool_uses=40,
            clear_tool_inputs=True,
            keep_thinking_turns=2,
            max_result_tokens=4_000,
            max_result_tokens_by_tool={"run_tests": 8_000},
            mode=TruncationMode.SMART,
            strategies=(Smart(keep_first=4), TruncateRange(keep=RangeKeep.QUARTER)),
            private_patterns=(r"Project \w+",),
            bring_back="contents",
            trusted_folders=(PROJECT,),
        ),
        hooks=HookSettings(
            pre_compact=("/home/ada/bin/may-compact", "--quietly"),
            post_compact=("log-compaction",),
            timeout=3.0,
            share_content=True,
        ),
        archive=ArchiveSettings(enabled=False, limit=2.5),
        search=SearchSettings(
            embeddings_url="http://127.0.0.1:11434/v1",
            embeddings_model="nomic-embed-text",
            embeddings_key_env="HOME_KEY",
            team_archive="postgresql://db.example/team",
        ),
        offline=OfflineSettings(enabled=False, limit=0.5),
        limits=(Limit(agent="codex", tokens=300_000), Limit(folder=PROJECT, cost=5.0)),
        notices=Notices.DESKTOP,
        store="postgresql://db.example/ullage",
    )
