"""The names that one model goes by: providers, routers and regions put prefixes before it, dates and versions after
it."""

import re

# `us.anthropic.`, `us-anthropic-`, `eu.meta.`: Bedrock's regions and vendors, with dots or with dashes as in a file
# name.
_REGION = re.compile(
    r"(?:(?:us|eu|apac|jp|au|global)[.-])?(?:anthropic|meta|amazon|mistral|cohere|deepseek|qwen)[.](?=\D)"
)
_REGION_DASHED = re.compile(r"^(?:us|eu|apac|jp|au|global)-(?:anthropic|meta|amazon|mistral|cohere)-")
_BEDROCK_VERSION = re.compile(r"-v\d+(?::\d+)?$|:\d+$")
_VERTEX_DATE = re.compile(r"@(\d{8}|latest|default)$")
_DATE = re.compile(r"-(?:20\d{2}-?[01]\d-?[0-3]\d|latest)$")
# `claude-sonnet-4-5[1m]` in Claude Code asks for the million-token window; `:free`, `:thinking` are OpenRouter's.
_VARIANT = re.compile(r"\[[^\[\]]*\]$|:(?:free|thinking|nitro|floor|online|beta|extended)$")


def without_provider(model: str) -> str:
    """Returns a model's name in lower case without the prefixes of routers, providers and regions, and without
    deployment versions and variants (`[1m]`, `:free`). A date stays."""
    name = _VARIANT.sub("", model.strip().lower().rsplit("/", 1)[-1])
    if name.startswith("ft:"):
        # OpenAI's fine-tuned models: `ft:BASE:organisation:suffix:id`
        name = name.split(":")[1]
    name = _REGION_DASHED.sub("", _REGION.sub("", name))
    return _VERTEX_DATE.sub(r"-\1", _BEDROCK_VERSION.sub("", name)).removesuffix("-default")


def without_date(name: str) -> str:
    """Returns the name without a trailing date (`-20250929`, `-2024-08-06`) or `-latest`."""
    return _DATE.sub("", name)


def bare_name(model: str) -> str:
    """Returns the model's name in lower case without provider, version suffix and date, by which its family is found:
    `anthropic/claude-sonnet-4-20250514` gives `claude-sonnet-4`."""
    return without_date(without_provider(model))
