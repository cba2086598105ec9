"""The words by which secrets and imitations are recognised. One search of a text finds all of them."""

from functools import cache, lru_cache

from ullage.redaction.scan import lowered
from ullage.redaction.secrets.programs import PIPING, PROGRAM_WORDS
from ullage.redaction.secrets.tokens import parted_prefixes
from ullage.redaction.word_search import WordSearch

# In names of passwords, tokens and keys.
NAMES = frozenset(("pass", "pwd", "secret", "token", "credential", "key", "_auth", "_pw", "sig"))
# Before the token in a header or a command.
SCHEMES = frozenset(("bearer ", "basic ", "token ", "digest ", "apikey ", "negotiate "))
ADDRESS, AUTHORIZATION, COOKIE = "://", "authorization", "cookie"
# In secrets that have a form of their own.
PUTTY, PRIVATE_KEY, BOT, HOOK, WEB_TOKEN = "putty-user", "private key", ":aa", "hook", "eyj"
# Before the colon and what the speaker says.
ROLES = frozenset(("human", "assistant", "user", "system", "developer"))
# What orders to ignore earlier ones begin with.
FORGETTING = frozenset(("ignore", "disregard", "forget", "override", "bypass"))
# One of these is in every order.
ORDERS = FORGETTING | {"summar", "compact", "compress", "you are now", "instruction", "system prompt"}


@lru_cache(maxsize=4)
def words_in(text: str) -> frozenset[str]:
    """Returns which of the words of this module, of programs and of prefixes are in a text, in lower case. The results
    for the last texts are remembered, because each step asks for its own words."""
    return _search().words_in(lowered(text))


@cache
def _search() -> WordSearch:
    forms = (ADDRESS, AUTHORIZATION, COOKIE, PUTTY, PRIVATE_KEY, BOT, HOOK, WEB_TOKEN)
    return WordSearch((*NAMES, *SCHEMES, *forms, *ROLES, *ORDERS, *PROGRAM_WORDS, *PIPING, *parted_prefixes()))
