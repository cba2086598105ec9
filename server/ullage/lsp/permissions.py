"""Asks the client for permission, where it says that it can ask the person."""

import logging

from ullage.api.asking import REQUEST_PERMISSION
from ullage.lsp.questions import BadReply, Questions
from ullage.model.permission import PermissionAnswer, RequestPermissionResult, ask_for, read_answer
from ullage.model.updates import ToolCall

PERMISSION_METHOD = f"ullage/{REQUEST_PERMISSION.name}"
_log = logging.getLogger(__name__)


class ClientPermissions:
    """Sends the question and reads the answer; what is none permits nothing."""

    def __init__(self, questions: Questions) -> None:
        self._questions = questions

    async def ask(self, session_id: str, call: ToolCall) -> PermissionAnswer:
        try:
            answer = await self._questions.ask(PERMISSION_METHOD, ask_for(session_id, call), RequestPermissionResult)
        except BadReply as error:
            _log.warning("The client did not answer %s: %s", PERMISSION_METHOD, error)
            return PermissionAnswer.REJECT_ONCE
        return read_answer(answer)
