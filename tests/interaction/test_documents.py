"""A PDF in a conversation: counted, kept through a compaction and its undo, and named in the summary."""

import base64
from typing import Any

from support.pdf import small_pdf
from support.provider_rules import anthropic_violations
from ullage import ContextManager

DATA = base64.b64encode(small_pdf(pages=4)).decode()
SOURCE = {"type": "base64", "media_type": "application/pdf", "data": DATA}
DOCUMENT: dict[str, Any] = {"type": "document", "source": SOURCE, "title": "spec.pdf", "citations": {"enabled": True}}
READ: dict[str, Any] = {"role": "user", "content": [{"type": "text", "text": "What does it say?"}, DOCUMENT]}


def turns(count: int) -> list[dict[str, Any]]:
    roles = ("assistant", "user")
    return [{"role": roles[number % 2], "content": f"Step {number}. " * 120} for number in range(count)]


def test_a_document_is_kept_through_a_compaction_and_its_undo() -> None:
    with ContextManager("claude-sonnet-4-5", "anthropic", window=40_000) as manager:
        first = {"role": "user", "content": "Build a parser."}
        manager.add_message(first, *turns(1), READ)
        before = manager.token_usage
        # Four pages, not 1,000 characters of base64; with the text around them.
        assert 4 * 1_500 < before < 4 * 3_000
        manager.add_message(*turns(40))
        whole = manager.get_messages()
        assert READ in whole
        manager.compact_sync()
        context = manager.get_context_for_request()
        assert anthropic_violations(context) == []
        assert DATA not in str(context)
        assert "spec.pdf (application/pdf, 1 kB)" in str(context)
        manager.undo()
        assert manager.get_messages() == whole
