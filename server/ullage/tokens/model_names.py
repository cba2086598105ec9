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
# What routers, proxies and editors write after a model's name: routes, efforts and other settings.
_SETTING = re.compile(
    r"(?:[:](?!\d+b\b)[a-z][\w.-]*|[-:](?:1m|thinking|reasoning|minimal|low|medium|high|xhigh|max|fast|maas|preview|exp))$"
    r"|\s*\([^()]*\)$"
)
_MILLION = re.compile(r"(?:\[1m\]|[-:]1m)$")
# The vendors' models that a proxy of another vendor names within a name of its own: `gemini-claude-opus-4-5`.
_INNER = re.compile(r"(?<=[-_.])(?:claude|gpt|gemini|grok|glm|kimi|deepseek)[-.\d]")
# A version in a name, which no number with letters (`70b`), date or further number (`0613`) is.
_VERSION = re.compile(r"(?<![\w.])\d{1,2}(?:[.-]\d{1,2})?(?![\w.]|-\d)")


def asks_for_a_million(model: str) -> bool:
    """Returns whether a model's name asks for its window of a million tokens: it ends in `[1m]`, `:1m` or `-1m`."""
    return _MILLION.search(model.strip().lower()) is not None


def inner_names(model: str) -> list[str]:
    """Returns the names that a model's name may be a variant of, the longest first: without settings at its end, then
    those of another vendor's model within it."""
    name = without_provider(model)
    inner = [name[found.start() :] for found in _INNER.finditer(name) if "distill" not in name]
    return [shorter for one in (name, *inner) for shorter in _without_settings(one)]


def _without_settings(name: str) -> list[str]:
    names = [name]
    while (shorter := _SETTING.sub("", name)) not in ("", name):
        name = shorter
        names.append(name)
    return names


def series_of(bare_name: str) -> tuple[str, tuple[int, ...]]:
    """Returns a model's series and version: `claude-opus-4-6` gives `claude-opus-*` and (4, 6). The version is empty if
    the name has none."""
    found = _VERSION.search(bare_name)
    if found is None:
        return bare_name, ()
    version = tuple(int(part) for part in re.split("[.-]", found[0]))
    return f"{bare_name[: found.start()]}*{bare_name[found.end() :]}", version


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
