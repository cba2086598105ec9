from benches.trigger import Replay
from support.foreign import read_value


def test_no_threshold_is_predicted_for_a_model_whose_window_is_not_known() -> None:
    answer = {
        "id": "a1",
        "role": "assistant",
        "content": [{"type": "text", "text": "done"}],
        "modelInfo": {"id": "nobodys"},
        "metrics": {"inputTokens": 900, "outputTokens": 20},
    }
    messages = [{"id": "u1", "role": "user", "content": [{"type": "text", "text": "go"}]}, answer]
    replay = Replay()
    # Cline compacts at a share of the window.
    replay.take(read_value({"version": 1, "sessionId": "s-1", "messages": messages}, "cline"))
    ((step,),) = (span.steps for span in replay.spans)
    assert (step.used, step.threshold, step.forecast(920), step.warned) == (920, None, None, None)
