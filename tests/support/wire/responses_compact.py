"""OpenAI's Responses API with `/responses/compact`: shapes as in its reference ("Compact a response")."""

from typing import Any

from support.provider_rules import responses_violations
from support.wire.account import Account
from support.wire.http import Json
from support.wire.responses_wire import ResponsesWire, usage_of

# About 200 tokens that only the server can read. Each compaction adds its own number.
SEALED = "c2VhbGVk" * 60


class CompactingResponsesWire(ResponsesWire):
    """The server's side. Without `compacts` it has no such endpoint. `tokens` is the length of its compactions."""

    compact_path = "/v1/responses/compact"

    def __init__(self, *, compacts: bool = True, tokens: int = 200) -> None:
        self.compacts = compacts
        self.tokens = tokens
        self.compacted: list[Json] = []

    def violations(self, body: Json) -> list[str]:
        """Adds a fault for each compaction that this server did not make, since it cannot read those."""
        sealed = [item["encrypted_content"] for item in body["input"] if item["type"] == "compaction"]
        foreign = [data for data in sealed if not data.startswith(SEALED)]
        return [*super().violations(body), *(f"{data[:9]} could not be verified" for data in foreign)]

    def compact(self, body: Json, prompt: int) -> tuple[int, Json]:
        """Returns status and answer."""
        wrong = responses_violations(body["input"])
        if wrong or not self.compacts:
            error = {"message": "; ".join(wrong) or "Unknown endpoint", "type": "invalid_request_error", "code": None}
            return 400, {"error": {**error, "param": None}}
        self.compacted.append(body)
        said = [item for item in body["input"] if item["type"] == "message" and item["role"] == "user"]
        sealed = {"type": "compaction", "id": "cmp_1", "encrypted_content": f"{SEALED}{len(self.compacted)}"}
        account = Account(prompt=prompt, cached=0, output=self.tokens)
        answer: Json = {"id": "resp_1", "object": "response.compaction", "created_at": 1_767_225_600}
        output = [{**item, "id": f"msg_{number}", "status": "completed"} for number, item in enumerate(said)]
        return 200, {**answer, "output": [*output, sealed], "usage": usage_of(account)}


def sealed_items(body: Json) -> list[Any]:
    """Returns the compactions in a request."""
    return [item["encrypted_content"] for item in body["input"] if item["type"] == "compaction"]
