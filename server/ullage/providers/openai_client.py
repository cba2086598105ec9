"""OpenAI's SDK: its client, and what it raises as our errors. Imported when a provider that needs it is first used."""

import json
from collections.abc import Generator
from contextlib import contextmanager

import httpx2
import openai

from ullage.model.settings import ProviderSettings
from ullage.providers.failures import Refusal, translate_connection, translate_nonsense, translate_refusal


def make_client(settings: ProviderSettings, key: str) -> openai.AsyncOpenAI:
    """The client; retries are ours, so that the person is told of them."""
    return openai.AsyncOpenAI(
        api_key=key,
        base_url=settings.base_url or None,
        max_retries=0,
        timeout=httpx2.Timeout(settings.timeout, connect=min(10.0, settings.timeout)),
    )


@contextmanager
def translated(name: str, client: openai.AsyncOpenAI) -> Generator[None]:
    """Makes what the SDK raises one of our errors."""
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
        # Not from the SDK's error, which repeats the answer as it is.
        raise translate_refusal(name, refusal) from None
    except (openai.APIConnectionError, httpx2.TransportError) as error:
        raise translate_connection(name, str(client.base_url), error) from error
    except openai.APIError as error:
        # An error event in the middle of a stream.
        raise translate_refusal(
            name, Refusal(status=0, kind=error.code or error.type or "", message=error.message)
        ) from error
    except (openai.OpenAIError, json.JSONDecodeError, UnicodeDecodeError) as error:
        raise translate_nonsense(name, error) from error
