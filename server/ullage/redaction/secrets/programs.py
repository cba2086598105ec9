"""Programs that take a password as an argument."""

import re
from collections.abc import Iterator

_USER = r"[^\n|;]{0,300}?\s(?:-u|--user|--proxy-user|-a|--auth)[ =]?[\"']?[^\s:\"']{0,80}:"
_INLINE = r"[^\n|;]{0,300}?\s-p"
_LOGIN = r"\s+login\b[^\n|;]{0,200}?\s-p[ =][\"']?"
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
    **dict.fromkeys(("docker", "podman", "registry", "skopeo", "oc ", "az "), _LOGIN),
    "redis-cli": r"[^\n|;]{0,200}?\s-a\s+",
    "zip": r"[^\n|;]{0,80}?\s-P\s*",
}
# Those options. The literal text comes first, because the search for it is fast.
_OPTION = re.compile(r"-(?<=\s-)(?:[upaP]|-user|-proxy-user|-auth)")
# Programs that take a password without one of those.
_WITHOUT_OPTION = {
    "openssl": r"[^\n|;]{0,300}?\spass:",
    "htpasswd": r"\s+-\w{0,20}?b\w{0,20}\s+\S+\s+\S+\s+",
    "login ": r"\S+\s+password\s+",  # .netrc
    "thin:": r"[^\s/]{1,60}/",  # Oracle over JDBC
}
ARGUMENTS = {
    program: re.compile(re.escape(program) + between + r"[\"']?(?P<inside>[^\s\"'@|]{4,300})")
    for program, between in (*_WITH_OPTION.items(), *_WITHOUT_OPTION.items())
}
# For each program the word to search for, which its name or its arguments have.
_WORD_OF = {program: "login" if "login" in program + one.pattern else program for program, one in ARGUMENTS.items()}
PROGRAM_WORDS = frozenset(_WORD_OF.values())
# Programs that write a password to another one.
PIPING = frozenset(("echo", "printf"))
PIPED = re.compile(
    r"(?:echo|printf)\s+(?:-n\s+)?[\"']?(?:[\w.-]{1,40}:)?(?P<inside>[^\s\"':|]{4,300}?)"
    r"(?=(?:\\n)?[\"']?\s*\|[^\n|]{0,80}(?:--password-stdin|sudo\s+-S|chpasswd|passwd|--with-token|--stdin))"
)


def programs_in(text: str, words: frozenset[str]) -> Iterator[str]:
    """Yields the programs that can get a password in a text. `words` are the words of `PROGRAM_WORDS` in the text, and
    may be more."""
    if not words & PROGRAM_WORDS:
        return
    has_option = _OPTION.search(text) is not None
    for program, word in _WORD_OF.items():
        if word in words and (has_option or program in _WITHOUT_OPTION) and program in text:
            yield program
