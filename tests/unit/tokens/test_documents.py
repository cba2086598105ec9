"""A PDF counts by its pages, of which a model is shown text and a picture."""

import base64

import pytest

from support.pdf import small_pdf
from ullage.model.message import Message, ResourceBlock, Role
from ullage.tokens.counter import get_counter
from ullage.tokens.families import ImageRule
from ullage.tokens.images import count_page, count_pages


def encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("pages", [1, 7, 250])
def test_the_pages_of_a_pdf_are_found_also_in_compressed_streams(pages: int, compressed: bool) -> None:
    assert count_pages(encoded(small_pdf(pages, compressed=compressed))) == pages


@pytest.mark.parametrize(("size", "pages"), [(0, 1), (99_000, 1), (1_000_000, 10)])
def test_a_document_whose_pages_cannot_be_found_counts_by_its_size(size: int, pages: int) -> None:
    assert count_pages(encoded(b"%PDF-1.7" * (size // 8))) == pages


@pytest.mark.parametrize("data", ["", "no base64!", "A"])
def test_broken_data_counts_as_a_page(data: str) -> None:
    assert count_pages(data) == 1


def test_a_page_counts_what_the_providers_say() -> None:
    # Anthropic: "1,500-3,000 tokens per page"; Google: 258, and 560 with Gemini 3.
    assert all(1_500 <= count_page(rule) <= 3_000 for rule in (ImageRule.CLAUDE, ImageRule.CLAUDE_LARGE))
    assert (count_page(ImageRule.GEMINI_TILES), count_page(ImageRule.GEMINI)) == (258, 560)


@pytest.mark.parametrize(
    ("model", "rule"),
    [
        ("claude-sonnet-4-5", ImageRule.CLAUDE),
        ("gpt-5.2", ImageRule.OPENAI_PATCHES),
        ("gemini-3-pro", ImageRule.GEMINI),
    ],
)
def test_a_document_counts_by_its_pages_and_another_blob_as_its_title(model: str, rule: ImageRule) -> None:
    def count(kind: str, data: bytes) -> int:
        block = ResourceBlock(uri="file:///a", mime_type=kind, data=encoded(data))
        return get_counter(model).count_message(Message(id="m", role=Role.USER, content=(block,)))

    one, ten = (count("application/pdf", small_pdf(pages)) for pages in (1, 10))
    assert ten - one == 9 * count_page(rule)
    assert count("application/zip", bytes(100_000)) < 40
