"""OpenAI's SDK: its client, and the conversion of its exceptions to our errors. Imported when a provider that needs
it is first used."""

from collections.abc import Generator
from contextlib import contextmanager

import httpx2
import openai

from ullage.model.errors import AnswerBroken
from ullage.model.settings import ProviderSettings
from ullage.providers.bounded_response import ACCEPTED, bound_response
from ullage.providers.failures import SHAPES, Refusal, translate_connection, translate_nonsense, translate_refusal


def make_client(settings: ProviderSettings, key: str) -> openai.AsyncOpenAI:
    """Returns the SDK's client. It retries nothing, because Ullage retries itself, so that the user is shown each
    wait."""
    return openai.AsyncOpenAI(
        api_key=key,
        base_url=settings.base_url or None,
        max_retries=0,
        timeout=httpx2.Timeout(settings.timeout, connect=min(10.0, settings.timeout)),
        http_client=openai.DefaultAsyncHttpxClient(headers=ACCEPTED, event_hooks={"response": [bound_response]}),
    )


@contextmanager
def translated(name: str, client: openai.AsyncOpenAI) -> Generator[None]:
    """Converts exceptions of the SDK in the `with` block to `ProviderError`s. `name` is the provider's name in their
    texts.

    Raises the error of `translate_refusal` for an answer with an error status or an error event, `ProviderUnavailable`
    if the server cannot be reached, and `AnswerBroken` if its answer cannot be read.
    """
    try:
        yield
    except openai.APIStatusError as error:
        refusal = Refusal(
            status=error.status_code,
            kind=error.code or error.type or "",
            message=error.message,
            headers=error.response.headers,
            key=client.api_key,
        )
        # Without the SDK's error as the cause, because that error repeats the answer unredacted.
        raise translate_refusal(name, refusal) from None
    except (openai.APIConnectionError, httpx2.TransportError) as error:
        if isinstance(error.__cause__, AnswerBroken):
            raise translate_nonsense(name, error.__cause__) from None
        raise translate_connection(name, str(client.base_url), error) from error
    except openai.APIError as error:
        # An error event in the middle of a stream.
        kind = error.code or error.type or ""
        raise translate_refusal(
            name, Refusal(status=0, kind=str(kind), message=str(error.message), key=client.api_key)
        ) from None
    except (openai.OpenAIError, AnswerBroken, *SHAPES) as error:
        raise translate_nonsense(name, error, client.api_key) from None
