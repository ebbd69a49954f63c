"""Letters that look like others: what a reader takes them for. Tables and what is read off them, no text."""

from __future__ import annotations

import unicodedata
from functools import lru_cache

_CYRILLIC = dict(zip("авеһіјкмнорсԛѕтуүѵѡхьԁɡӏԍпг", "abehijkmhopcqstyyvwxbdglgnr", strict=True))
_CYRILLIC |= dict(zip("АВЕНІЈКМОРСЅТУХԌԚԜѴ", "ABEHIJKMOPCSTYXGQWV", strict=True))
_GREEK = dict(zip("αβεγικνορτυχωηϲϳ", "abeyikvoptuxwncj", strict=True))
_GREEK |= dict(zip("ΑΒΕΖΗΙΚΜΝΟΡΤΥΧϹͿ", "ABEZHIKMNOPTYXCJ", strict=True))
_OTHER = dict(zip("օսոհքցզյառԼՍՕ", "ounhpgqjwnLUO", strict=True)) | {"ǀ": "l", "ı": "i", "ȷ": "j", "ɑ": "a", "ℓ": "l"}
TWINS = _CYRILLIC | _GREEK | _OTHER
"""Letters of other scripts that pass for a Latin one."""

_SMALL = dict(zip("ᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘʀꜱᴛᴜᴠᴡʏᴢɩ", "abcdefghijklmnoprstuvwyzi", strict=True))
_STROKED = dict(zip("øƀđɨłŧɍɇɉɏꝑꝗȼħⱥꞓɵƶ", "obdiltrejypqchacoz", strict=True))
_ENCLOSED = ((0x1F150, 26), (0x1F170, 26), (0x1F1E6, 26))
"""Blocks of A to Z in dark circles, in dark squares and as flags, which Unicode itself does not call letters."""
_FOLDED = ("<wide>", "<narrow>", "<font>", "<circle>", "<square>", "<compat>")
_RAISED = ("<super>", "<sub>")


@lru_cache(maxsize=8192)
def plain_letter(letter: str) -> str:
    """What a styled letter or figure stands for (full width, bold, in a circle, small capitals); any other stands for itself."""
    if letter in _SMALL:
        return _SMALL[letter]
    if letter.isdecimal():
        return str(unicodedata.decimal(letter))
    for first, count in _ENCLOSED:
        if first <= ord(letter) < first + count:
            return chr(ord(letter) - first + 65)
    kind = unicodedata.decomposition(letter).partition(" ")[0]
    # A raised figure is an exponent or a note's mark; a raised letter is nothing but a letter.
    raised = kind in _RAISED and not letter.isdigit()
    if kind not in _FOLDED and not raised:
        return letter
    found = unicodedata.normalize("NFKC", letter).strip("()")
    return found if found.isalnum() or (kind in ("<wide>", "<narrow>") and found.isascii()) else letter


def without_strokes(word: str) -> str:
    """The word without its accents where more than half of its letters have one; else with those that letters can have."""
    taken_apart = unicodedata.normalize("NFD", word)
    bare = [one for one in taken_apart if not unicodedata.combining(one)]
    accents = len(taken_apart) - len(bare) + sum(one in _STROKED for one in bare)
    if accents * 2 > len(bare):
        return "".join(_STROKED.get(one, one) for one in bare)
    return "".join(one for one in unicodedata.normalize("NFC", word) if not unicodedata.combining(one))
