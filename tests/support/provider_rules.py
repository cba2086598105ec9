"""The providers' rules for a request's messages, checked on the plain JSON.

The rules are taken only from the providers' documents and error messages; the code shares nothing with the writers that
it checks. Each function returns a list of faults. That a request needs at least one message is not checked.
"""

import base64
import json
import re
from collections.abc import Sequence
from typing import Any

Json = dict[str, Any]
TOOL_ID = re.compile(r"[a-zA-Z0-9_-]+")
ANTHROPIC_BLOCKS = {
    "user": {"text", "image", "tool_result", "document"},
    "assistant": {"text", "thinking", "redacted_thinking", "tool_use"},
}
RESULT_PARTS = {"text", "image", "document"}
IMAGE_TYPES = {"image/jpeg", "image/png", "image/gif", "image/webp"}


def anthropic_violations(messages: Sequence[Json]) -> list[str]:
    """Returns the faults for which Anthropic's Messages API would refuse the messages."""
    messages = _combined(messages)
    wrong: list[str] = []
    seen: set[str] = set()
    for index, message in enumerate(messages):
        expected = "user" if index % 2 == 0 else "assistant"
        if message.get("role") != expected:
            wrong.append(f"{index}: role {message.get('role')!r} instead of {expected!r}")
        if not isinstance(message.get("content"), list) or not message["content"]:
            wrong.append(f"{index}: content is no list of blocks, or empty")
            continue
        blocks: list[Json] = message["content"]
        wrong += [f"{index}: {text}" for block in blocks for text in _block_violations(message["role"], block)]
        calls: list[str] = [block["id"] for block in blocks if block["type"] == "tool_use"]
        wrong += [f"{index}: id {call} used twice" for call in calls if call in seen or calls.count(call) > 1]
        seen.update(calls)
        wrong += [f"{index}: {text}" for text in _pair_violations(messages, index, blocks, calls)]
        if blocks[-1]["type"] in ("thinking", "redacted_thinking"):
            wrong.append(f"{index}: ends in thinking")
    if messages and messages[-1]["role"] == "assistant":
        last = messages[-1]["content"][-1]
        if last["type"] == "text" and last["text"] != last["text"].rstrip():
            wrong.append("the final assistant message ends in white space")
    return wrong + _encoding_violations(messages)


def _combined(messages: Sequence[Json]) -> list[Json]:
    """Returns the messages as the API reads them: it combines neighbours of one role, and a text is one block."""
    combined: list[Json] = []
    for message in messages:
        content = message.get("content")
        blocks: Any = [{"type": "text", "text": content}] if isinstance(content, str) else content
        if combined and combined[-1]["role"] == message.get("role") and isinstance(blocks, list):
            combined[-1] = {**message, "content": [*combined[-1]["content"], *blocks]}
        else:
            combined.append({**message, "content": blocks})
    return combined


def _pair_violations(messages: Sequence[Json], index: int, blocks: list[Json], calls: list[str]) -> list[str]:
    wrong: list[str] = []
    types = [block["type"] for block in blocks]
    results: list[str] = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
    if "tool_result" in types[len(results) :]:
        wrong.append("tool results do not come first")
    before: list[Json] = messages[index - 1]["content"] if index else []
    asked: list[str] = [block["id"] for block in before if block["type"] == "tool_use"]
    if sorted(results) != sorted(asked):
        wrong.append(f"results {results} do not answer the calls {asked} before")
    if calls and index + 1 == len(messages):
        wrong.append(f"calls {calls} are not answered")
    return wrong


def _block_violations(role: str, block: Json) -> list[str]:
    kind = block.get("type")
    if kind not in ANTHROPIC_BLOCKS.get(role, set()):
        return [f"a {kind} block in a {role} message"]
    match kind:
        case "text":
            return [] if block["text"].strip() else ["empty text block"]
        case "thinking":
            return [] if block.get("signature") else ["thinking without signature"]
        case "image" | "document":
            return (_source_violations if kind == "image" else _document_violations)(block["source"])
        case "tool_use":
            return _use_violations(block)
        case _:
            return _result_violations(block.get("content", []))


def _use_violations(block: Json) -> list[str]:
    wrong = [f"illegal {key} {block[key]!r}" for key in ("id", "name") if not TOOL_ID.fullmatch(block[key])]
    return wrong + ([] if isinstance(block["input"], dict) else ["input is no object"])


def _result_violations(parts: str | list[Json]) -> list[str]:
    if isinstance(parts, str):
        return []
    wrong = [f"a {part['type']} in a result" for part in parts if part["type"] not in RESULT_PARTS]
    legal = [part for part in parts if part["type"] in RESULT_PARTS]
    return wrong + [text for part in legal for text in _block_violations("user", part)]


def _source_violations(source: Json) -> list[str]:
    if source["type"] == "url":
        return [] if source["url"].startswith("http") else [f"illegal image URL {source['url']!r}"]
    wrong = [] if source["media_type"] in IMAGE_TYPES else [f"illegal media type {source['media_type']!r}"]
    return wrong + ([] if source["data"] else ["image without data"])


def _document_violations(source: Json) -> list[str]:
    match source["type"]:
        case "base64":
            return _pdf_violations(source["media_type"], source["data"])
        case "url":
            return [] if source["url"].startswith("https://") else [f"illegal document URL {source['url']!r}"]
        case _:
            return []


def _pdf_violations(kind: str, data: str) -> list[str]:
    """Returns the faults of a document in base64. The providers read PDFs alone."""
    if kind != "application/pdf":
        return [f"a document of type {kind!r}"]
    return [] if base64.b64decode(data, validate=True).startswith(b"%PDF-") else ["the document is no PDF"]


def _file_violations(file: Json) -> list[str]:
    """Returns the faults of a file of OpenAI's formats; its kind is read from the name and the `data:` URL."""
    if not str(file.get("filename", "")).endswith(".pdf"):
        return [f"a file named {file.get('filename')!r}"]
    head, _, data = str(file.get("file_data", "")).partition(";base64,")
    return _pdf_violations(head.removeprefix("data:"), data)


def openai_violations(messages: Sequence[Json]) -> list[str]:
    """Returns the faults for which OpenAI's Chat Completions API would refuse the messages, and system messages
    after the first."""
    wrong: list[str] = []
    open_calls: list[str] = []
    for index, message in enumerate(messages):
        if message.get("role") == "tool":
            if message.get("tool_call_id") not in open_calls:
                wrong.append(f"{index}: result of {message.get('tool_call_id')} does not follow its call")
            open_calls = [call for call in open_calls if call != message.get("tool_call_id")]
        elif open_calls:
            wrong.append(f"{index}: calls {open_calls} are not answered")
            open_calls = []
        open_calls = [call["id"] for call in message.get("tool_calls", [])] or open_calls
        wrong += [f"{index}: {text}" for text in _message_violations(index, message)]
    if open_calls:
        wrong.append(f"calls {open_calls} are not answered")
    return wrong + _encoding_violations(messages)


def responses_violations(items: Sequence[Json]) -> list[str]:
    """Returns the faults for which OpenAI's Responses API would refuse a request's `input`."""
    wrong: list[str] = []
    calls: set[str] = set()
    answered: set[str] = set()
    for index, item in enumerate(items):
        match item.get("type", "message"):
            case "message":
                wrong += [f"{index}: {text}" for text in _said_violations(item)]
            case "function_call":
                wrong += [f"{index}: id {item['call_id']} used twice"] if item["call_id"] in calls else []
                wrong += [f"{index}: {text}" for text in _function_violations(item["call_id"], item)]
                calls.add(item["call_id"])
            case "function_call_output":
                wrong += [f"{index}: {text}" for text in _output_violations(item["output"])]
                if item["call_id"] not in calls - answered:
                    wrong.append(f"{index}: result of {item['call_id']} does not follow its call")
                answered.add(item["call_id"])
            case "reasoning":
                after = items[index + 1] if index + 1 < len(items) else {}
                follows = after.get("role") == "assistant" or str(after.get("type")).endswith("_call")
                wrong += [] if follows else [f"{index}: reasoning without the item that it led to"]
            case "compaction":
                wrong += [] if item.get("encrypted_content") else [f"{index}: a compaction without its content"]
            case kind:
                wrong.append(f"{index}: unknown type {kind!r}")
    wrong += [f"calls {calls - answered} are not answered"] if calls - answered else []
    return wrong + _encoding_violations(items)


def _said_violations(item: Json) -> list[str]:
    legal = {"user": {"input_text", "input_image", "input_file"}, "assistant": {"output_text"}}.get(
        item["role"], set[str]()
    )
    if isinstance(item["content"], str):
        return [] if item["content"].strip() else ["blank text"]
    wrong = [f"a {part['type']} by {item['role']}" for part in item["content"] if part["type"] not in legal]
    wrong += [text for part in item["content"] if part["type"] == "input_file" for text in _file_violations(part)]
    blank = any(part["type"].endswith("text") and not part["text"].strip() for part in item["content"])
    return wrong + (["blank text"] if blank else []) + ([] if item["content"] else ["no content"])


def _output_violations(output: Any) -> list[str]:
    if isinstance(output, str):
        return []
    legal = {"input_text", "input_image", "input_file"}
    wrong = [f"a {part['type']} in an output" for part in output if part["type"] not in legal]
    return wrong + [text for part in output if part["type"] == "input_file" for text in _file_violations(part)]


def _message_violations(index: int, message: Json) -> list[str]:
    match message.get("role"):
        case "tool":
            return [] if isinstance(message.get("content"), str) else ["result without text"]
        case "assistant":
            return _call_violations(message)
        case "system" if index:
            return ["system message is not first"]
        case "system" | "user":
            return _content_violations(message.get("content"))
        case role:
            return [f"unknown role {role!r}"]


def _content_violations(content: Any) -> list[str]:
    if not content:
        return ["no content"]
    parts: list[Json] = [] if isinstance(content, str) else content
    wrong = [f"a {part['type']} part" for part in parts if part["type"] not in ("text", "image_url", "file")]
    return wrong + [text for part in parts if part["type"] == "file" for text in _file_violations(part["file"])]


def _call_violations(message: Json) -> list[str]:
    wrong: list[str] = []
    if not message.get("content") and not message.get("tool_calls"):
        wrong.append("assistant message says nothing")
    if "tool_calls" in message and not message["tool_calls"]:
        wrong.append("empty tool_calls")
    calls = message.get("tool_calls", [])
    if len({call["id"] for call in calls}) < len(calls):
        wrong.append("two calls of one id")
    for call in calls:
        wrong += _function_violations(call["id"], call["function"])
    return wrong


def _function_violations(call_id: str, function: Json) -> list[str]:
    wrong = [] if len(call_id) <= 40 else [f"id {call_id!r} is too long"]
    if not re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", function["name"]):
        wrong.append(f"illegal name {function['name']!r}")
    arguments = function["arguments"]
    if not isinstance(arguments, str) or not isinstance(json.loads(arguments), dict):
        wrong.append("arguments are no JSON object as text")
    return wrong


def _encoding_violations(messages: Sequence[Json]) -> list[str]:
    try:
        json.dumps(messages, ensure_ascii=False, allow_nan=False).encode()
    except ValueError as error:
        return [f"cannot be sent as JSON: {error}"]
    return []
