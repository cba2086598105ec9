"""What secrets and imitations are recognised by: words, programs that take a password, prefixes of tokens, and, where
the patterns alone cannot decide, the characters of a value together with its name.

One search of a text finds all of the words.
"""

import re
from collections import Counter
from collections.abc import Iterator
from functools import cache, lru_cache
from math import log2
from operator import ne
from string import ascii_lowercase, ascii_uppercase, digits

from msgspec import Struct

from ullage.redaction.issuers import ISSUED
from ullage.redaction.scan import WordSearch, lowered

_PASSWORD = re.compile(r"(?i)pass|pwd|psk|masterauth|\bpin\b|secret|credential")
# Words in the place of a password or token that are not one: types, states, placeholders, the name repeated.
_WORDS = re.compile(
    r"(?i)(?:(?:my|your|the|some|new|old|user|test|fake|dummy|default|sample|db)[-_ ]?){0,2}"
    r"(?:pass(?:word|wd|phrase|code)?|pwd|pw|secret|token|key|apikey|api[-_]key|credentials?|value|name|string|text|str"
    r"|bytes|none|null|nil|true|false|undefined|optional|required|hidden|invalid|valid|missing|empty|incorrect|wrong"
    r"|expired"
    r"|any|object|number|integer|boolean|bool|char|varchar|bearer|basic|digest|jwt|oauth|csrf"
    r"|session|cookie|hash|bcrypt"
    r"|include|omit|same-origin|options?|flags?|fields?|prompt|arguments?|parameters?"
    r"|admin|user|username|env|vault|here|changeme|change[-_]me|redacted|masked|encrypted|placeholder|example|todo)"
    r"(?:[-_ ]?(?:here|value|name|string|goes[-_ ]here|\d{1,2}))?"
)
_PLACEHOLDER = re.compile(
    r"(?i)(?:.*\[redacted.*|<[^>]*>?|\$[A-Za-z_{(].*|%[\w(%].*|\{.*|\*{3,}.*|.*\.{3}|.*…|x{3,}|#\{.*|@\{.*"
    r"|!(?:ref|vault|sub).*"
    r"|your[-_ ].*|.*[-_]here|(?:self|this|os|process|env|config|settings|args|opts|options|params|secrets|ctx"
    r"|cls)\b[.\[].*)"
)
_CODE = re.compile(
    r"[A-Za-z_$][\w$]*(?:(?:\.|::|->|\?\.)[A-Za-z_$][\w$]*)+[(\[]?.*"  # a.b, a::b, a->b
    r"|[A-Za-z_$][\w$.:!]*[(\[{<].*"  # calls, subscripts, types
    r"|(?:u?int|float|double|i|u|f|uint|varchar|char|text|utf-?|base|sha-?|md|aes-?|rsa-?|[hrep]s|oauth|http|v"
    r"|p)\d{1,4}(?:_t|be|le)?"
    r"|\??\.[A-Za-z_]\w*|\([a-z_]\w*|[./~][\w./@+-]*/[\w./@+-]*\w|\w+://.*|[\w-]+\.(?:py|ts|js|json|ya?ml|toml|md|txt|rs|go|java|cs|sh|env"
    r"|pem|key|crt)"
)
_IDENTIFIER = re.compile(
    r"[A-Za-z_][a-z_]*(?:_?\d{1,2})?|[A-Z][A-Z_]*(?:_?\d{1,2})?|[a-z]+\d{0,2}(?:[A-Z][a-z]+)+\d?|[A-Za-z_]+"
)
# A constant, a function, a type or a file of code: words with a number at most.
_NAME_OF_CODE = re.compile(
    r"_*[A-Za-z][a-z]*\d{0,2}(?:[A-Z][a-z]+\d{0,2})*[A-Z][a-z]+|_?[A-Z][A-Z0-9]*(?:[_-][A-Z0-9]+)+_?|_*[A-Za-z]+\d{0,2}(?:[_-][A-Za-z]+\d{0,2})+|\*.*"
)
_SHORTEST_QUOTED, _SHORTEST_BARE, _SHORTEST_KEY, _SHORTEST_DRAWN, _SHORTEST_LETTERS = 4, 6, 8, 16, 20
# What a token consists of, and where its parts end.
_TOKEN = re.compile(r"[\w.~+/=:-]+")
_SEPARATORS = re.compile(r"[^A-Za-z0-9]+")
# The kind of each character: digit, upper case, or any other.
_KINDS = str.maketrans(
    {**dict.fromkeys(digits, "0"), **dict.fromkeys(ascii_uppercase, "A"), **dict.fromkeys(ascii_lowercase, "a")}
)
_DIGIT_RUNS = re.compile("0+")


def is_secret(name: str, value: str, *, quoted: bool, bound: bool) -> bool:
    """Returns whether `value`, assigned to something called `name`, is a secret. Placeholders, common words and code
    are not.

    `quoted` means that the value is a string literal. `bound` means that the value follows the name directly, as in an
    environment file or on a command line, where the value can't be code.
    """
    value = value.strip()
    if _PLACEHOLDER.fullmatch(value) or _WORDS.fullmatch(value):
        return False
    if _PASSWORD.search(name):
        return _is_password(name, value, quoted=quoted, bound=bound)
    if len(value) < _SHORTEST_KEY or " " in value or value.isdigit():
        return False
    if len(value) >= _SHORTEST_LETTERS and value.isalpha() and is_random(value):
        return True
    if not quoted and (_is_code(value, bound=bound) or _IDENTIFIER.fullmatch(value)):
        return False
    is_mixed = any(map(str.isdigit, value)) and any(map(str.isalpha, value))
    return is_mixed and (quoted or bound or is_random(value) or is_drawn(value))


@lru_cache(maxsize=512)
def is_strong(name: str, value: str, *, is_apart: bool = True) -> bool:
    """Returns whether a value is a secret although no sign of an assignment says so: it is no code, and it looks drawn,
    or a person may have chosen it for the password that the name means. If words are between the name and the value
    (`is_apart` is false), a chosen one must mix more kinds of characters than words of prose and code do."""
    if _NAME_OF_CODE.fullmatch(value) or not is_secret(name, value, quoted=False, bound=False):
        return False
    return is_drawn(value) or is_random(value) or (_PASSWORD.search(name) is not None and _is_chosen(value, is_apart))


def unpunctuated(value: str) -> str:
    """Returns a value without the signs that end a sentence; `!` is often the last of a password with a digit."""
    return value.rstrip(".?:" if any(map(str.isdigit, value)) else ".!?:")


def _is_chosen(value: str, is_apart: bool) -> bool:
    """Returns whether a person may have chosen a value for a password: letters, and a digit or a sign of those that
    forms ask for. Paths, options, addresses and versions are none."""
    signs = {char for char in value if not char.isalnum()}
    is_named = _WORDS.fullmatch(value.strip("*_:&")) is not None
    if is_named or signs & set("/\\=()[]{}<>") or value[0] in "-.:&@?" or value[-1] in ":." or value.isdecimal():
        return False
    has_digit, has_sign = any(map(str.isdigit, value)), bool(signs & set("!@#$%^&*+?~"))
    if is_apart:
        return has_digit or has_sign
    return has_digit and (has_sign or value[0].isupper())


def _is_password(name: str, value: str, *, quoted: bool, bound: bool) -> bool:
    if quoted:
        spaced = " " in value and "phrase" not in name.lower()
        return len(value) >= _SHORTEST_QUOTED and not spaced and not _CODE.fullmatch(value)
    if len(value) < (_SHORTEST_QUOTED if bound else _SHORTEST_BARE) or _is_code(value, bound=bound):
        return False
    return bound or not value.replace("_", "a").isalpha() or is_random(value)


def _is_code(value: str, *, bound: bool) -> bool:
    """Returns whether an unquoted value reads as code. A dotted token such as Discord's has a drawn part."""
    if not _CODE.fullmatch(value):
        return False
    drawn = is_drawn(value) if bound else any(map(is_drawn, _SEPARATORS.split(value)))
    return not drawn or not _TOKEN.fullmatch(value)


def is_drawn(value: str) -> bool:
    """Returns whether the characters of a value can be drawn at random from any alphabet: lower case and digits, or
    hexadecimal digits. Names with a number have few changes between letters and digits, such tokens have many. So this
    says less than `is_random` and holds only for values whose name or place means a secret."""
    chars = "".join(filter(str.isalnum, value))
    if len(chars) < _SHORTEST_DRAWN:
        return False
    kinds = chars.translate(_KINDS)
    changes = sum(map(ne, kinds, kinds[1:]))
    return changes >= 0.2 * (len(chars) - 1) and _DIGIT_RUNS.subn("", kinds)[1] >= 2 and _entropy(value) >= 2.8


def is_random(value: str) -> bool:
    """Returns whether the characters of `value` look random. Fewer than eight letters and digits never do.

    In names, the kind of character (upper case, lower case, digit) changes only between words, about once in four
    characters. In random text it changes twice in three. So the kind must change in at least 38 % of the
    neighbouring pairs, and the entropy must be at least 2.8 bits per character.
    """
    kinds = "".join(filter(str.isalnum, value)).translate(_KINDS)
    if len(kinds) < _SHORTEST_KEY:
        return False
    changes = sum(map(ne, kinds, kinds[1:]))
    return changes / (len(kinds) - 1) >= 0.38 and _entropy(value) >= 2.8


def _entropy(value: str) -> float:
    """Returns Shannon's entropy of the characters, in bits per character."""
    size = len(value)
    return -sum(count / size * log2(count / size) for count in Counter(value).values())


# In names of passwords, tokens and keys.
NAMES = frozenset(("pass", "pwd", "secret", "token", "credential", "key", "_auth", "_pw", "sig", "masterauth", "psk"))
# For a password in other languages; `named_values.py` has those that are not ASCII.
SPOKEN = frozenset((
    "passwort", "kennwort", "mot de passe", "clave de acceso", "senha", "parola", "wachtwoord", "adgangskode",
    "salasana", "heslo", "mdp", "clave", "ordine", "kata sandi", "kata laluan", "contrasenya", "contrasinal", "passord",
    "lozinka", "geslo", "pasahitza",
))  # fmt: skip
# Before the token in a header or a command.
SCHEMES = frozenset(("bearer ", "basic ", "token ", "apikey ", "negotiate "))
ADDRESS, AUTHORIZATION, COOKIE = "://", "authorization", "cookie"
# Before a password in a statement, and in a call that has the user's name first.
IDENTIFIES = "identified by"
LOGINS = frozenset(("auth(", "auth=(", "login(", "log_in(", "signin(", "sign_in(", "connect(", "authenticate("))
# In secrets that have a form of their own.
PUTTY, PRIVATE_KEY, BOT, HOOK, WEB_TOKEN = "putty-user", "private key", ":aa", "hook", "eyj"
# Before the colon and what the speaker says.
ROLES = frozenset(("human", "assistant", "user", "system", "developer"))
# What orders to ignore earlier ones begin with.
FORGETTING = frozenset(("ignore", "disregard", "forget", "override", "bypass"))
# One of these is in every order.
ORDERS = FORGETTING | {"summar", "compact", "compress", "you are now", "instruction", "system prompt"}
_USER = r"[^\n|;]{0,300}?\s(?:-u|--user|--proxy-user|-a|--auth)[ =]{0,4}[\"']?[^\s:\"']{0,80}:"
_INLINE = r"[^\n|;]{0,300}?\s-p"
_LOGIN = r"\s+login\b[^\n|;]{0,200}?\s-p[ =]{1,4}[\"']?"
# Characters between a program's name and the password that a pattern looks through at most.
LONGEST_ARGUMENTS = 300
# Programs that take a password after an option, each with the text between the program's name and the password.
_WITH_OPTION = {
    "curl": _USER,
    "wget": _USER,
    "http": _USER,
    "mysql": _INLINE,
    "mariadb": _INLINE,
    "7z": _INLINE,
    "sshpass": r"\s+-p\s*",
    **dict.fromkeys(("docker", "podman", "registry", "skopeo", "oc", "az"), _LOGIN),
    "redis-cli": r"[^\n|;]{0,200}?\s-a\s+",
    "zip": r"[^\n|;]{0,80}?\s-P\s*",
}
# Those options. The literal text comes first, because the search for it is fast.
_OPTION = re.compile(r"-(?<=\s-)(?:[upaP]|-user|-proxy-user|-auth)")
# Programs that take a password without one of those.
_WITHOUT_OPTION = {
    "openssl": r"[^\n|;]{0,300}?\s(?:pass:|-k\s{1,4})",
    "ssh-keygen": r"[^\n|;]{0,200}?\s-N\s{1,4}",
    "ldapsearch": r"[^\n|;]{0,200}?\s-w\s{1,4}",
    "useradd": r"[^\n|;]{0,200}?\s-p\s{1,4}",
    "doctl auth init": r"[^\n|;]{0,80}?\s-t\s{1,4}",
    "net user": r"\s[\w.-]{1,60}\s(?!/)",
    "smbclient": r"[^\n|;]{0,200}?\s-U\s[^\s%]{1,60}%",
    "bundle config": r"\s\S{1,100}\s\w{1,60}:",
    "mc alias set": r"\s\S{1,60}\s\S{1,100}\s\S{1,60}\s",
    "::add-mask": "::",
    "htpasswd": r"\s+-\w{0,20}?b\w{0,20}\s+\S+\s+\S+\s+",
    "login ": r"\S+\s+password\s+",  # .netrc
    "thin:": r"[^\s/]{1,60}/",  # Oracle over JDBC
    "ConvertTo-SecureString": r"\s+(?:-String\s+)?",
    "stats auth": r"\s+[^\s:]{1,60}:",
    "insecure-password": r"\s+",
    "WIFI:": r"(?:[^\s;]{1,60};){0,3}P:",
    "rabbitmqctl": r"\s(?:add_user|change_password|authenticate_user)\s\S{1,60}\s",
    # What a script sends after a prompt.
    "assword:": r"\s?[\"']\)?;?\s{1,20}(?:\w{1,20}\.)?send(?:line)?[ (]\s?(?=[\"'])",
    # What a mail server asks for the password with, in base64; the answer to IMAP.
    "UGFzc3dvcmQ6": r"[\"']?\s{0,4}(?:(?:C:|<-|->|[<>]) )?",
    " LOGIN ": r"[\"\w.@+-]{1,80}\s(?=\S{0,60}[\d!$%&@])",
    # What mail, FTP, chat and Redis are sent, as traces show it.
    **dict.fromkeys(
        (f"{sign}{verb} " for sign in ("> ", ">", '"', "C: ") for verb in ("PASS", "AUTH")),
        r"(?:[\w.-]{1,40} )?(?=\S{0,60}[\d!$%&@])",
    ),
}
ARGUMENTS = {
    program: re.compile(
        re.escape(program)
        + between
        + r"[\"']?(?P<inside>(?:(?!(?:\\[rn])+[\"'])(?:[^\s\"'@|]|@(?![\w.-]{3,100}(?:[:/\s\"']|$)))){4,300})"
    )
    for program, between in (*_WITH_OPTION.items(), *_WITHOUT_OPTION.items())
}
# For each program the word to search for, which its name or its arguments have.
_WORD_OF = {
    program: "login" if "login" in program + one.pattern else program.lower() for program, one in ARGUMENTS.items()
}
PROGRAM_WORDS = frozenset(_WORD_OF.values())
# Programs that write a password to another one.
PIPING = frozenset(("echo", "printf"))
PIPED = re.compile(
    r"(?:echo|printf)\s+(?:-n\s+)?[\"']?(?:[\w.-]{1,40}:)?(?P<inside>[^\s\"':|]{4,300}?)"
    r"(?=(?:\\n)?[\"']?\s*\|[^\n|]{0,80}(?:--password-stdin|sudo\s+-S|chpasswd|passwd|--with-token|--stdin))"
)
# Tokens that gitleaks' list lacks or describes more narrowly, in the form of `ISSUED`. From their issuers' documents.
_MORE_PREFIXES = (
    ("sk-", r"\w-", 16, 200),  # OpenAI, Anthropic, and those who copied the prefix
    ("pk_live_", "A-Za-z0-9", 10, 120), ("pk_test_", "A-Za-z0-9", 10, 120), ("whsec_", r"\w+/=-", 16, 100),  # Stripe
    ("AKIA", "A-Z0-9", 16, 16), ("ASIA", "A-Z0-9", 16, 16), ("AROA", "A-Z0-9", 16, 16), ("AIDA", "A-Z0-9", 16, 16),
    ("ABIA", "A-Z0-9", 16, 16), ("ACCA", "A-Z0-9", 16, 16),
    ("LTAI", "A-Za-z0-9", 12, 30), ("AKID", "A-Za-z0-9", 13, 60),  # Alibaba, Tencent
    ("ya29.", r"\w-", 20, 400), ("GOCSPX-", r"\w-", 20, 40), ("1//0", r"\w-", 30, 120),  # Google
    *((f"xox{kind}-", r"\w.-", 10, 250) for kind in "abceoprs"), ("xapp-", r"\w-", 10, 200),  # Slack
    ("hf_", "A-Za-z0-9", 20, 60), ("pypi-", r"\w-", 16, 400), ("npm_", "A-Za-z0-9", 20, 60),
    ("dckr_pat_", r"\w-", 20, 60), ("dckr_oat_", r"\w-", 20, 60),  # Docker
    ("hvs.", r"\w-", 20, 300), ("hvb.", r"\w-", 20, 300), ("hvr.", r"\w-", 20, 300),  # Vault
    ("AGE-SECRET-KEY-1", "A-Z0-9", 40, 80), ("key-", "0-9a-f", 32, 32),  # age, Mailgun
    ("SK", "0-9a-f", 32, 32),  # Twilio
    *((f"sq0{kind}-", r"\w-", 20, 60) for kind in ("atp", "csp", "idp")),  # Square
    ("gsk_", "A-Za-z0-9", 20, 80), ("xai-", "A-Za-z0-9", 20, 120), ("r8_", "A-Za-z0-9", 20, 60),  # Groq, xAI, Replicate
    ("figd_", r"\w-", 20, 80), ("lin_api_", "A-Za-z0-9", 20, 60), ("sntrys_", r"\w+/=-", 20, 250),
    ("NRAK-", "A-Z0-9", 20, 40), ("dp.st.", r"\w.", 20, 80), ("ATATT3x", r"\w=-", 20, 250),
    ("sbp_", "a-f0-9", 30, 60), ("sqp_", "a-f0-9", 30, 60), ("tskey-", r"\w-", 16, 80), ("CFPAT-", r"\w-", 30, 60),
    ("sl.", r"\w-", 40, 200),  # Dropbox
    ("EAA", "A-Za-z0-9", 30, 250),  # Facebook
)  # fmt: skip
# So many random characters after a prefix are a token, even if its length is wrong: cut off, or of a newer kind.
_ENOUGH = 16
LONGEST_RUN = 1_200
# Letters and digits before a token that an escape (`\n`, `%22`, `\u0022`) or a colour (`[1m`, `[32m`) ends with.
_SKIPPED = (0, 1, 2, 3, 5)
# Signs before which, and after which, a part of a word begins.
_PARTED = str.maketrans({sign: " " for sign in map(chr, range(128)) if not sign.isalnum() and sign != "_"})
# Signs that part the words of `scan.LONG_WORDS`.
_SIGNS = [sign for sign in map(chr, _PARTED) if sign != "-"]


@lru_cache(maxsize=4)
def words_in(text: str) -> frozenset[str]:
    """Returns which of the words of this module, of programs and of prefixes are in a text, in lower case. The results
    for the last texts are remembered, because each step asks for its own words."""
    return _search().words_in(lowered(text))


@cache
def _search() -> WordSearch:
    forms = (ADDRESS, AUTHORIZATION, COOKIE, IDENTIFIES, *LOGINS, PUTTY, PRIVATE_KEY, BOT, HOOK, WEB_TOKEN)
    return WordSearch((*NAMES, *SPOKEN, *SCHEMES, *forms, *ROLES, *ORDERS, *PROGRAM_WORDS, *PIPING, *parted_prefixes()))


def programs_in(text: str, words: frozenset[str]) -> Iterator[str]:
    """Yields the programs that can get a password in a text. `words`: those of `PROGRAM_WORDS` in it, or more."""
    if not words & PROGRAM_WORDS:
        return
    has_option = _OPTION.search(text) is not None
    for program, word in _WORD_OF.items():
        if word in words and (has_option or program in _WITHOUT_OPTION) and program in text:
            yield program


class TokenShape(Struct, frozen=True):
    """A kind of token: its prefix, and the pattern of the `shortest` to `longest` characters after the prefix."""

    prefix: str
    run: re.Pattern[str]
    shortest: int
    longest: int

    def end_at(self, text: str, at: int) -> int:
        """Returns the index after the token that begins at `at`, or -1 if no token of this kind begins there."""
        found = self.run.match(text, at + len(self.prefix)) if text.startswith(self.prefix, at) else None
        if found is None:
            return -1
        size = found.end() - found.start()
        if self.shortest <= size <= self.longest or (size >= _ENOUGH and is_random(found[0])):
            return found.end()
        return -1

    def is_parted(self) -> bool:
        """Returns whether a sign such as `.` can be in a token of this kind, or any sign at its second character. Such
        tokens may have no long word or no part of a word that begins with two characters of their prefix."""
        signs = [sign for sign in _SIGNS if sign in self.prefix or self.run.match(sign)]
        return bool(signs) or not self.prefix[:2].replace("_", "").isalnum()


@cache
def shapes_by_prefix() -> dict[str, tuple[TokenShape, ...]]:
    """Returns the known kinds of tokens by the prefix to search for. If a prefix begins with another prefix, only the
    shorter one is searched for, and its entry holds the kinds of both."""
    shapes = [
        TokenShape(prefix, re.compile(rf"[{chars}]{{1,{LONGEST_RUN}}}(?!\w)"), shortest, longest)
        for prefix, chars, shortest, longest in (*ISSUED, *_MORE_PREFIXES)
    ]
    prefixes = {shape.prefix for shape in shapes}
    firsts = [one for one in prefixes if not any(one != other and one.startswith(other) for other in prefixes)]
    return {first: tuple(shape for shape in shapes if shape.prefix.startswith(first)) for first in sorted(firsts)}


@cache
def parted_prefixes() -> dict[str, tuple[str, ...]]:
    """Returns the prefixes of tokens that a sign can part, by themselves in lower case."""
    parted = [prefix for prefix, shapes in shapes_by_prefix().items() if any(shape.is_parted() for shape in shapes)]
    return {low: tuple(one for one in parted if one.lower() == low) for low in map(str.lower, parted)}


@cache
def _by_start() -> dict[str, tuple[str, ...]]:
    """Returns the other prefixes by their first two characters."""
    parted = {prefix for prefixes in parted_prefixes().values() for prefix in prefixes}
    others = sorted(shapes_by_prefix().keys() - parted)
    return {start: tuple(one for one in others if one.startswith(start)) for start in {one[:2] for one in others}}


def prefixes_in(words: str) -> Iterator[str]:
    """Yields the prefixes that are in a text's long words, but for those of tokens that a sign can part. A token begins
    where a word or a part of one begins, or after the letters of an escape, so that few prefixes need a search."""
    by_start = _by_start()
    # Letters that are not ASCII part a word as well.
    parts = words.encode("ascii", "replace").decode().translate(_PARTED).split()
    starts = {part[skipped : skipped + 2] for part in parts for skipped in _SKIPPED}
    for start in by_start.keys() & starts:
        for prefix in by_start[start]:
            if prefix in words:
                yield prefix
