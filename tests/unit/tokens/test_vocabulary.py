"""The packed vocabularies."""

import base64
import hashlib

import pytest

from ullage.tokens.vocabulary import SPECS, load_encoding, pack, read_tokens, unpack, warm_up


@pytest.mark.parametrize("name", SPECS)
def test_packed_vocabulary_is_the_published_file(name: str) -> None:
    published = hashlib.sha256()
    for rank, token in enumerate(read_tokens(name)):
        published.update(base64.b64encode(token) + b" %d\n" % rank)
    assert published.hexdigest() == SPECS[name].sha256


def test_unpacking_is_the_inverse_of_packing() -> None:
    tokens = [b"a", b"", b"longer", bytes(range(128))]
    assert unpack(pack(tokens)) == tokens


def test_encoding_gives_the_ids_openai_documents() -> None:
    assert load_encoding("cl100k_base").encode_ordinary("hello world") == [15339, 1917]
    assert load_encoding("o200k_base").encode_ordinary("hello world") == [24912, 2375]


def test_encoding_is_built_once_per_process() -> None:
    warm_up()
    assert load_encoding("o200k_base") is load_encoding("o200k_base")
