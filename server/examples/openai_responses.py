"""An agent on OpenAI's Responses API that leaves old messages out instead of summarising them.

Runs as it is: `ask_model` stands in for the provider. With the SDK it would be

    client.responses.create(model=MODEL, store=False, **request)     # .output as dicts, .usage
"""

import json
from typing import Any

from ullage import ContextManager, ContextSettings, TruncationMode

MODEL = "gpt-6.1-sol"
TOOLS: list[dict[str, Any]] = [
    {"type": "function", "name": "weather", "description": "Today's weather.", "parameters": {"properties": {}}}
]


def ask_model(request: dict[str, Any], number: int) -> list[dict[str, Any]]:
    """The items of one response: a call, or what the last result says."""
    if request["input"][-1].get("type") == "function_call_output":
        said = {"type": "output_text", "text": "It is " + "very, " * 400 + "very foggy."}
        return [{"type": "message", "role": "assistant", "content": [said]}]
    arguments = json.dumps({"city": f"city {number}"})
    return [{"type": "function_call", "call_id": f"call_{number}", "name": "weather", "arguments": arguments}]


def main() -> None:
    """Fifty questions."""
    settings = ContextSettings(mode=TruncationMode.SMART)
    with ContextManager(MODEL, provider="openai-responses", tools=TOOLS, window=8_000, context=settings) as context:
        for number in range(50):
            context.add_message({"role": "user", "content": f"How is the weather in city {number}?"})
            context.add_message(*ask_model(context.get_request(), number))
            context.add_message({"type": "function_call_output", "call_id": f"call_{number}", "output": "fog"})
            context.add_message(*ask_model(context.get_request(), number))
        sent = context.get_request()["input"]
        print(f"{len(context.get_messages())} items said, {len(sent)} sent, {context.token_usage:,} tokens")
        saved = context.token_usage
        context.undo()
        print(f"the last edit taken back: {context.token_usage - saved:,} tokens more")


if __name__ == "__main__":
    main()
