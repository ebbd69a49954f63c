"""Whether a text is surely not English. Built to raise no false alarm: typos and foreign names are English."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from vista_guard.judges.embedded.english.words import word_set

if TYPE_CHECKING:
    from py3langid.langid import LanguageIdentifier

NAMES = {
    "ar": "Arabic", "cs": "Czech", "da": "Danish", "de": "German", "el": "Greek", "en": "English",
    "es": "Spanish", "fi": "Finnish", "fr": "French", "he": "Hebrew", "hi": "Hindi", "hu": "Hungarian",
    "id": "Indonesian", "it": "Italian", "ja": "Japanese", "ko": "Korean", "nl": "Dutch", "pl": "Polish",
    "pt": "Portuguese", "ro": "Romanian", "ru": "Russian", "sv": "Swedish", "th": "Thai",
    "tr": "Turkish", "uk": "Ukrainian", "vi": "Vietnamese", "zh": "Chinese",
}  # fmt: skip
"""The languages told apart. Rare ones only add false alarms: short English passes for Nigerian Pidgin."""

_ENGLISH = word_set(
    """the and but of for with from by are were been have had does did not you she it they my your his her their its
    this that these those there what who how when where why which can could will would should if because about like just
    also most some very than them yes know think im name born first new one
    called known made time people world into other after over only"""
)
"""Function words that are no common word of another language in Latin script."""
_SHARED = word_set("is was in on to i at he we me no so or as be am do")
"""Function words that are."""
_WORD = re.compile(r"[^\W\d_]+")
_LATIN = re.compile(r"[A-Za-zÀ-ɏ]")
_SAMPLE = 4000
"""Characters looked at."""
_MIN_LOWER, _MIN_LETTERS = 4, 24
"""Least words in lower case and letters in all. Less, in Latin script, is as often a name or an idiom."""
_ENGLISH_SHARE, _SHARED_SHARE = 0.12, 0.22
"""With these shares of function words a text is English, whatever the identifier says."""
_SURE_LATIN, _SURE_OTHER = 0.95, 0.5
"""Least probability of the identifier's answer, for Latin and for other scripts.

With these limits none of 69,474 English utterances, claims and encyclopedia sentences (the dev parts of the training
data) is called foreign.
"""


def foreign(text: str) -> str | None:
    """The language's name and code, as in "German (de)", when `text` is surely not English. Else None."""
    sample = text[:_SAMPLE]
    # A possessive is as English as "its".
    words = _WORD.findall(re.sub(r"'s\b", " its", sample))
    letters = sum(map(len, words))
    latin = len(_LATIN.findall(sample)) > letters / 2
    if letters < 8 or (latin and _maybe_english(words, letters)):
        return None
    code, confidence = _identifier().classify(" ".join(words).lower())
    if code == "en" or confidence < (_SURE_LATIN if latin else _SURE_OTHER):
        return None
    return f"{NAMES[code]} ({code})"


def _maybe_english(words: list[str], letters: int) -> bool:
    if letters < _MIN_LETTERS or sum(word.islower() for word in words) < _MIN_LOWER:  # the rest may be names
        return True
    words = [word.lower() for word in words]
    surely = sum(word in _ENGLISH for word in words)
    shared = sum(word in _SHARED for word in words)
    return surely >= max(1.0, _ENGLISH_SHARE * len(words)) or surely + shared >= _SHARED_SHARE * len(words)


@lru_cache(maxsize=1)
def _identifier() -> LanguageIdentifier:
    # Loaded by the first text that does not read like English: most processes never pay for it.
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    identifier.set_languages(list(NAMES))
    return identifier
