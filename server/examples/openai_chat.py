"""An agent on OpenAI's Chat Completions API, with a summariser of its own.

Runs as it is: `ask_model` and `summarize` stand in for the provider. With the SDK they would be

    client.chat.completions.create(model=MODEL, **request)          # .choices[0].message.model_dump(), .usage
"""

import json
from typing import Any

from ullage import ContextManager, SummaryTask

MODEL = "gpt-6.1-sol"


def ask_model(request: dict[str, Any], number: int) -> tuple[dict[str, Any], dict[str, int]]:
    """An answer and the provider's account of the request."""
    text = f"Chapter {number}: " + "the ship sails on through fog and rain. " * 60
    usage = {"prompt_tokens": len(json.dumps(request)) // 4, "completion_tokens": len(text) // 4}
    return {"role": "assistant", "content": text}, usage


def summarize(task: SummaryTask) -> str:
    """Would ask a small model: `task.request` holds the messages, `task.previous` the last summary."""
    return f"The story so far, of {len(task.request['messages'])} messages: a ship in fog and rain."


def main() -> None:
    """A long story."""
    with ContextManager(MODEL, provider="openai", system="You tell stories.", window=16_000, llm=summarize) as context:
        (first,) = context.add_message({"role": "user", "content": "A story of a ship. Never name its captain."})
        context.pin(first)
        for number in range(30):
            if context.needs_compaction():
                made = context.compact_if_needed_sync()
                if made is not None:
                    print(f"{len(made.removed)} messages became: {made.summary}")
            answer, usage = ask_model(context.get_request(), number)
            context.add_message(answer)
            context.update_usage(usage)
            context.add_message({"role": "user", "content": "Go on."})
        print(f"{context.token_usage:,} tokens used, {context.available_tokens:,} free")


if __name__ == "__main__":
    main()
