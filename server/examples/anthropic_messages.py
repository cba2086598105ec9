"""An agent on Anthropic's Messages API whose context never overflows.

Runs as it is: `ask_model` stands in for the provider. With the SDK it would be

    client.messages.create(model=MODEL, max_tokens=1024, **request)
"""

from typing import Any

from ullage import ContextManager

MODEL = "claude-sonnet-5-5"
TOOLS = [{"name": "read", "description": "Reads a file.", "input_schema": {"properties": {"path": {"type": "string"}}}}]


def ask_model(request: dict[str, Any], number: int) -> dict[str, Any]:
    """A model that reads one file after another, then answers."""
    call = {"type": "tool_use", "id": f"toolu_{number}", "name": "read", "input": {"path": f"src/part_{number}.py"}}
    answer: dict[str, Any] = {"type": "text", "text": "All parts read; the rounding in part_3 is wrong."}
    return {"role": "assistant", "content": [call if number < 60 else answer]}


def read(path: str) -> str:
    """A tool."""
    return "\n".join(f"{path}:{line}: value = round(value * {line}, 2)" for line in range(60))


def main() -> None:
    """One prompt turn, far more than the window holds."""
    # A small window, so that something happens.
    context = ContextManager(
        MODEL, provider="anthropic", system="You are a careful engineer.", tools=TOOLS, window=32_000
    )
    context.add_message({"role": "user", "content": "Find the rounding mistake."})
    for number in range(61):
        request = context.get_request()
        answer = ask_model(request, number)
        context.add_message(answer)
        calls = [block for block in answer["content"] if block["type"] == "tool_use"]
        results = [
            {"type": "tool_result", "tool_use_id": call["id"], "content": read(call["input"]["path"])} for call in calls
        ]
        if results:
            context.add_message({"role": "user", "content": results})
    stats = context.get_stats()
    print(f"{len(context.get_messages())} messages said, {stats.used:,} of {stats.size:,} tokens used")
    for edit in context.history():
        print(f"{edit.kind}: {edit.tokens_saved:,} tokens saved")
    print("found in the archive:", context.search("part_3", limit=1)[0].message_id != "")
    context.close()


if __name__ == "__main__":
    main()
