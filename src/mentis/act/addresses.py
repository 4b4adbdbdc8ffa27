"""Finds what in a text leads somewhere: mail, hosts, URLs, paths, accounts and long numbers.

Too many are found rather than too few: a name of a file looks like a host. What is taken for an
address stands in no word list; texts are normalised before (`likeness`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from .likeness import TooMuch, tight

_TOKEN = re.compile(r"""[^\s"'<>()\[\]{}|,;`]{4,}""")
MARK = re.compile(r"[@/\\:\d]|\w\.\w")  # every address has one of these in it
_MAY_MARK = re.compile(r"[@/\\:\d.]")  # much faster to look for than the above
_POINT = re.compile(r"\.\w")
_DIGIT = re.compile(r"\d")
# Of ASCII, what is neither mark nor digit: taken away in one go, it shows whether there are any.
_NO_MARKS = bytes(code for code in range(128) if not _MAY_MARK.match(chr(code)))
_NO_DIGITS = bytes(code for code in range(128) if not chr(code).isdecimal())
_INNER = re.compile(r"[=&?#:@/\\!*+$^%]")
_DOMAIN_END = re.compile(r"[=&?#:/\\%]")
_HOST_END = re.compile(r"[/?#\\:]")
_MAIL_NAME = "abcdefghijklmnopqrstuvwxyz0123456789._%+-"
_ACCOUNT = re.compile(r"(?<![a-z0-9])[a-z]{2}\d{2}(?:[\W_]{0,2}[a-z0-9]{2,4}){3,8}")
_RUN = re.compile(r"\d(?:[\W_]{0,3}\d){6,}")
_GROUPING = re.compile(r"\D+")
# A day and a time of day are no number of anything.
_MOMENT = re.compile(
    r"(?<!\d)(?:19|20)\d\d-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])"
    r"(?:[t ](?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d)?)?(?!\d)"
)
_IPV6 = re.compile(r"(?<![\w:.])(?=[0-9a-f.]*:[0-9a-f.]*:)[0-9a-f:]{2,39}[0-9a-f.:]{0,15}(?![\w])")
_ROOT_DOT = re.compile(r"(?<=\w)\.(?=[/:?#\\])")  # evil.example./x is at evil.example
# What is under these is somebody's, they themselves are nobody's.
_NOBODYS = frozenset(
    f"{second}.{first}"
    for first, seconds in (
        ("uk", "co org ac gov me ltd plc net sch nhs"),
        ("au", "com net org edu gov id"),
        ("nz", "co net org ac govt"),
        ("jp", "co or ne ac go"),
        ("kr", "co or ne go"),
        ("br", "com net org gov edu"),
        ("cn", "com net org gov edu"),
        ("in", "co net org gov ac"),
        ("za", "co org gov ac"),
        ("at", "co or gv ac"),
        ("il", "co org ac gov"),
        ("id", "co or ac go"),
        ("th", "co or ac go"),
        *((one, "com net org gov edu") for one in ("ar", "hk", "mx", "my", "pl", "sg", "tr", "tw")),
    )
    for second in seconds.split()
)
_SHORTEST, _LONG = 4, 12
_DIGITS, _ACCOUNT_DIGITS = 7, 10
_MOST_GROUPS = 8
_MOST_STEPS = 16
_MOST_IN_ONE = 1000  # addresses in one token
_MOST_RUN = 100_000


def leads_somewhere(normalised: str) -> bool:
    """Whether there can be an address or a number in it at all. Most prose has none."""
    if not normalised.isascii():
        return True
    left = normalised.encode().translate(None, _NO_MARKS)
    return bool(left.strip(b".") or (left and _POINT.search(normalised)))


def addresses(normalised: str, *, single: bool) -> Iterator[str]:
    """Mail, hosts, URLs, paths and keys, each with the larger places it is in.

    `single`: one stroke makes a path, as in a text that is nothing but the path.
    """
    for word in _marked(normalised):
        for found in _TOKEN.findall(word):
            if MARK.search(found):
                token = found.strip("!?*=").rstrip(".:_")
                yield from [one for one in _in_token(token, single=single) if len(one) >= _SHORTEST]


def numbers(normalised: str) -> Iterator[str]:
    """Accounts, and digits that are seven or more together, without what groups them."""
    if _digits(normalised) < _DIGITS:
        return
    normalised = _MOMENT.sub(" and ", normalised)
    for found in _ACCOUNT.findall(normalised):
        if sum(map(str.isdecimal, found)) >= _ACCOUNT_DIGITS:
            yield tight(found)
    for found in _RUN.findall(normalised):
        if len(found) > _MOST_RUN:
            raise TooMuch(f"it holds more than {_MOST_RUN} digits in a row")
        groups = [group for group in _GROUPING.split(found) if group]
        for first in range(len(groups)):
            number = ""
            for group in groups[first : first + _MOST_GROUPS]:
                number += group
                said = number.lstrip("0") or "0"  # 0049 170 is +49 170
                if len(said) >= _DIGITS:
                    yield said


def _digits(normalised: str) -> int:
    if normalised.isascii():
        return len(normalised.encode().translate(None, _NO_DIGITS))
    return len(_DIGIT.findall(normalised))


def _marked(normalised: str) -> Iterator[str]:
    """The words that may have a mark in them: in most texts they are few."""
    if not leads_somewhere(normalised):
        return
    end = 0
    while found := _MAY_MARK.search(normalised, end):
        start = normalised.rfind(" ", end, found.start()) + 1 or end
        end = normalised.find(" ", found.end())
        if end < 0:
            end = len(normalised)
        yield normalised[start:end]


def _in_token(token: str, *, single: bool) -> list[str]:
    if token.count("@") + token.count("://") > _MOST_IN_ONE:
        raise TooMuch(f"it holds more than {_MOST_IN_ONE} addresses without a blank between")
    token = _ROOT_DOT.sub("", token)
    found = _mail(token) if "@" in token else []
    if token.count(":") > 1:
        found += [one for one in _IPV6.findall(token) if "::" in one or one.count(":") > 6]
    for piece in _INNER.split(token):
        if len(piece) >= _SHORTEST:
            found += _hosts(piece)
            if len(piece) >= _LONG and _is_mixed(piece):
                found.append(piece)
    starts = token.split("://")[1:]
    for start in starts:
        found += _place(start)
    if not starts and _is_host(_HOST_END.split(token, maxsplit=1)[0]):
        found += _place(token)
    elif not starts and _is_path(token, single=single):
        found.append(token.rstrip("/") or token)
    return found


def _mail(token: str) -> list[str]:
    """Name and host, whatever stands around them; and a name that begins with the sign."""
    found: list[str] = []
    for left, right in pairwise(token.split("@")):
        name = left[len(left.rstrip(_MAIL_NAME)) :]
        found.append(f"{name}@{_DOMAIN_END.split(right, maxsplit=1)[0].rstrip('.')}")
    return found


def _hosts(piece: str) -> list[str]:
    """The host and the domains it is in, but for those that are nobody's: `uk` and `co.uk`."""
    if "." not in piece or not _is_host(piece):
        return []
    labels = piece.removeprefix("www.").split(".")
    whole = ".".join(labels)
    if labels[-1].isdecimal():
        return [whole]
    steps = range(max(1, len(labels) - 1 - _MOST_STEPS), len(labels) - 1)
    larger = (".".join(labels[step:]) for step in steps)
    return [whole, *(one for one in larger if one not in _NOBODYS)]


def _place(start: str) -> list[str]:
    """A URL without its scheme, and what it begins with: what is inside of a place is there."""
    place = start.rpartition("@")[2] if "@" in start.split("/", 1)[0] else start
    place = place.removeprefix("www.").rstrip("/.")
    found, end = [place], place.find("/")
    for _ in range(_MOST_STEPS):
        if end < 0:
            break
        found.append(place[:end])
        end = place.find("/", end + 1)
    if "?" in place:
        found.append(place.split("?", 1)[0].rstrip("/."))
    return found


def _is_host(host: str) -> bool:
    labels = host.split(".")
    if len(labels) < 2 or not all(labels):
        return False
    last = labels[-1]
    if last.isdecimal():
        return len(labels) == 4 and all(label.isdecimal() for label in labels)
    return len(last) > 1 and (last.isalpha() or last.startswith("xn--"))


def _is_path(token: str, *, single: bool) -> bool:
    strokes = token.count("/") + token.count("\\")
    if not strokes:
        return False
    rooted = token[0] in "/\\~" or token.startswith(("./", "../")) or token[1:3] in (":\\", ":/")
    return rooted or single or strokes > 1 or "." in token


def _is_mixed(piece: str) -> bool:
    """Letters and digits in one: a key, a wallet, the number of a document."""
    digits = sum(map(str.isdecimal, piece))
    return 2 < digits < len(piece)
