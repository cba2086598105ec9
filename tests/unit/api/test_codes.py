"""One table gives a code for every error class."""

import pytest
from lsprotocol import types

from ullage.api.protocol import CODES, acp_error_object, code_of
from ullage.model.errors import NotFound, UllageError


def tree(kind: type[UllageError]) -> list[type[UllageError]]:
    return [kind, *(found for child in kind.__subclasses__() for found in tree(child))]


# Other tests may define subclasses, so only the classes of the model are listed.
ERRORS = [kind for kind in tree(UllageError) if kind.__module__ == UllageError.__module__]


@pytest.mark.parametrize("kind", ERRORS, ids=lambda kind: kind.__name__)
def test_every_error_has_a_code(kind: type[UllageError]) -> None:
    assert kind in CODES


def test_codes_are_positive_unless_they_mean_what_json_rpc_and_the_language_server_protocol_mean_by_them() -> None:
    assert {code for code in CODES.values() if code <= 0} == {
        types.ErrorCodes.InvalidParams,
        types.LSPErrorCodes.RequestCancelled,
    }


@pytest.mark.parametrize("kind", ERRORS, ids=lambda kind: kind.__name__)
def test_an_agent_says_that_something_is_not_found_by_acp_s_code(kind: type[UllageError]) -> None:
    code = acp_error_object(kind("There is none.")).code
    assert code == (-32002 if issubclass(kind, NotFound) else CODES[kind])


def test_codes_of_our_own_are_given_once() -> None:
    own = [code for code in CODES.values() if code > 0]
    assert len(own) == len(set(own))


def test_an_error_that_is_not_listed_has_the_code_of_the_nearest_class_above() -> None:
    class PageNotFound(NotFound):
        pass

    assert code_of(PageNotFound("There is no page 3.")) == CODES[NotFound]
