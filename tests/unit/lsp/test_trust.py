"""Whether the workspace trusts the projects that it opens, by what the client declares."""

from typing import Any

import pytest

from support.lsp_rig import Rig


async def trusts(capabilities: Any, options: Any) -> bool:
    rig = Rig()
    await rig.initialize(capabilities, options)
    return rig.server.workspace().trusts_projects


@pytest.mark.parametrize(
    ("declared", "trusted"),
    [
        ({"folderTrusted": False}, False),
        ({"folderTrusted": "false"}, False),
        ({"folderTrusted": True}, True),
        ({}, True),
    ],
)
async def test_a_client_declares_whether_the_folder_is_trusted_in_either_place(declared: Any, trusted: bool) -> None:
    assert await trusts({"experimental": {"ullage": declared}}, None) is trusted
    assert await trusts(None, {"client": declared}) is trusted


@pytest.mark.parametrize(
    ("capabilities", "options"), [({}, None), ({"experimental": {"ullage": True}}, {"client": "nvim"})]
)
async def test_a_client_that_knows_no_trust_is_trusted(capabilities: Any, options: Any) -> None:
    assert await trusts(capabilities, options)


async def test_later_settings_do_not_make_a_folder_trusted() -> None:
    rig = Rig()
    await rig.initialize({"experimental": {"ullage": {"folderTrusted": False}}})
    settings = {"ullage": {"client": {"folderTrusted": True}, "context": {"warnAt": 0.7}}}
    rig.notify("workspace/didChangeConfiguration", {"settings": settings})
    await rig.settle()
    assert not rig.server.workspace().trusts_projects
