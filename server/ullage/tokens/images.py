"""Tokens of pictures, by the formulas the providers publish. Sizes in pixels.

OpenAI: "Images and vision" guide (tiles of 512 px, patches of 32 px). Anthropic: "Vision" guide (patches of 28 px).
Google: "Understand and count tokens" (258 per 768-px tile for 2.x) and measured sizes for 3.x.
"""

from math import ceil

from ullage.model.blocks import ImageBlock
from ullage.tokens.families import ImageRule
from ullage.tokens.image_size import size_of

# Assumed for a picture whose size is not given (a URL, an unknown format): the order of magnitude of a screenshot.
ASSUMED_SIZE = (1024, 1024)

# base and per tile of the tile models
_TILES = {
    ImageRule.OPENAI_TILES: (85, 170),
    ImageRule.OPENAI_TILES_MINI: (2833, 5667),
    ImageRule.OPENAI_TILES_GPT5: (70, 140),
    ImageRule.OPENAI_TILES_O: (75, 150),
}
# tokens per patch and most patches at high detail
_PATCHES = {ImageRule.OPENAI_PATCHES: (1.2, 2_500), ImageRule.OPENAI_PATCHES_MINI: (1.62, 6_144)}
# longest edge and most tokens
_CLAUDE = {ImageRule.CLAUDE: (1_568, 1_568), ImageRule.CLAUDE_LARGE: (2_576, 4_784)}
_GEMINI_3 = 1_100


def count_image(image: ImageBlock, rule: ImageRule) -> int:
    """Returns the tokens of one picture by a rule."""
    width, height = size_of(image) or ASSUMED_SIZE
    if rule in _TILES:
        return _count_tiles(width, height, *_TILES[rule])
    if rule in _PATCHES:
        return _count_patches(width, height, *_PATCHES[rule])
    if rule in _CLAUDE:
        return _count_claude(width, height, *_CLAUDE[rule])
    return _count_gemini_tiles(width, height) if rule is ImageRule.GEMINI_TILES else _GEMINI_3


def _count_tiles(width: int, height: int, base: int, per_tile: int) -> int:
    """Scaled to fit 2048 px, then the short side to at most 768 px, then tiles of 512 px."""
    scale = min(1.0, 2048 / max(width, height), 768 / min(width, height))
    return base + per_tile * _grid(width * scale, height * scale, 512)


def _count_patches(width: int, height: int, per_patch: float, most: int) -> int:
    """Patches of 32 px; a larger picture is scaled down until it has at most `most`."""
    return ceil(min(_grid(width, height, 32), most) * per_patch)


def _count_claude(width: int, height: int, longest_edge: int, most: int) -> int:
    """Patches of 28 px after scaling to the longest edge, and scaled down further to `most` tokens."""
    scale = min(1.0, longest_edge / max(width, height))
    return min(_grid(width * scale, height * scale, 28), most)


def _count_gemini_tiles(width: int, height: int) -> int:
    """One tile up to 384 px, else tiles of 768 px; 258 tokens each."""
    return 258 if max(width, height) <= 384 else 258 * _grid(width, height, 768)


def _grid(width: float, height: float, cell: int) -> int:
    # Rounded first, so that 1024 x 0.75 does not become a hair more than 768 and one cell too many.
    return ceil(round(width, 6) / cell) * ceil(round(height, 6) / cell)
