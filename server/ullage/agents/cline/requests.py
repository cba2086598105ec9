"""Pairs the requests that `ui_messages.json` lists with the answers in `api_conversation_history.json`.

A listed request is `{say: "api_req_started", text}`, whose text is JSON with the request's token counts.
"""

from collections.abc import Sequence

from ullage.formats.parsing import as_count, as_timestamp
from ullage.formats.provider_usage import exclude_cache
from ullage.formats.transcripts.several import parsed
from ullage.model.json_values import JsonObject, as_list, as_object
from ullage.model.usage import Usage


def requests_of(messages: Sequence[JsonObject], ui_messages: Sequence[JsonObject]) -> dict[int, JsonObject]:
    """Returns the listed request of each answer, by the answer's index in `messages`. It has the request's token
    counts, and `deletedRange` if the range of messages that are no longer sent has changed.

    An answer is paired with the last request before its time if both have times. Otherwise answers and requests are
    paired from the end, because a request that failed has no answer, and the newest figures matter most.
    """
    requests = _read_requests(ui_messages)
    answers = [index for index, message in enumerate(messages) if message.get("role") == "assistant"]
    times = [as_timestamp(messages[index].get("ts")) for index in answers]
    if not all(times) or not all(request["ts"] for request in requests):
        return dict(zip(reversed(answers), reversed(requests), strict=False))
    paired: dict[int, JsonObject] = {}
    place = 0
    for index, time in zip(answers, times, strict=True):
        begun = [at for at in range(place, len(requests)) if requests[at]["ts"] <= time]
        if begun:
            paired[index] = requests[begun[-1]]
            place = begun[-1] + 1
    return paired


def usage_of(request: JsonObject, *, includes_cache: bool) -> Usage | None:
    """Returns a request's token counts as `Usage`, or None if the request has none.

    `includes_cache` says that `tokensIn` counts the whole prompt; this is ignored if the cached tokens alone are more.
    """
    prompt, answer = as_count(request.get("tokensIn")), as_count(request.get("tokensOut"))
    read, written = as_count(request.get("cacheReads")), as_count(request.get("cacheWrites"))
    if not prompt + answer + read + written:
        return None
    return exclude_cache(
        prompt if includes_cache and prompt >= read + written else prompt + read + written, answer, read, written
    )


def _read_requests(ui_messages: Sequence[JsonObject]) -> list[JsonObject]:
    requests: list[JsonObject] = []
    left_out: list[object] = []
    for shown in ui_messages:
        now = as_list(shown.get("conversationHistoryDeletedRange"))
        if shown.get("say") != "api_req_started":
            continue
        counts = as_object(parsed(shown.get("text")))
        # A request that is still running has no counts yet.
        if "tokensIn" in counts or "tokensOut" in counts:
            changed = {"deletedRange": now} if now and now != left_out else {}
            requests.append({**counts, **changed, "ts": as_timestamp(shown.get("ts"))})
            left_out = now or left_out
    return requests
