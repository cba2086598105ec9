"""The proxy's recorder: jobs run in order, and a failing store leaves a defined state."""

from support.workspace import build_test_client
from ullage.model.errors import StoreUnavailable
from ullage.proxy.record import Recorder, Store
from ullage.service.conversation.workspace import Workspace


def make_recorder(reasons: list[str]) -> Recorder:
    return Recorder(Store(prepare=lambda: None, open=lambda: build_test_client().workspace), reasons.append)


async def test_jobs_are_done_in_the_order_they_are_put() -> None:
    done: list[int] = []
    recorder = make_recorder([])
    for number in range(5):

        async def job(_: Workspace, number: int = number) -> None:
            done.append(number)

        await recorder.put(job)
    assert await recorder.settled() is recorder.workspace
    await recorder.close()
    assert done == [0, 1, 2, 3, 4]


async def test_a_job_with_a_fault_of_ours_does_not_keep_the_next_from_being_done() -> None:
    done: list[str] = []

    async def wrong(_: Workspace) -> None:
        raise ValueError("ours")

    async def right(_: Workspace) -> None:
        done.append("right")

    recorder = make_recorder([])
    await recorder.put(wrong)
    await recorder.put(right)
    await recorder.close()
    assert done == ["right"]


async def test_a_store_that_fails_ends_the_recording_with_one_reason_and_leaves_no_workspace() -> None:
    reasons: list[str] = []

    async def fails(_: Workspace) -> None:
        raise StoreUnavailable("the disk is full")

    recorder = make_recorder(reasons)
    for _ in range(2):
        await recorder.put(fails)
    assert await recorder.settled() is None
    assert recorder.workspace is None
    assert reasons == ["the disk is full"]
    await recorder.close()
