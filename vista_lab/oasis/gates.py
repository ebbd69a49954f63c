"""Gates that need no judge: what they fail certainly breaks the rules of LLM-OASIS's prompt (Table 1).

All verdicts are kept with the record, passed ones too. `judged` has the gates that ask a verifier.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher

from vista_guard.judges.embedded.english.words import word_set
from vista_guard.judges.embedded.quantities import amounts
from vista_lab.oasis.passages import sentences_of
from vista_lab.oasis.records import GeneratedPair, Passage
from vista_lab.runs.made import GateVerdict, Grade, State, verdict

MOST_WORDS = 15
"""Words of a claim at most (Table 1, step 1)."""
PRONOUN = re.compile(
    r"(?:he|she|it|they|we|i|this|that|these|those|his|her|its|their|there)\b(?!['’]s own)(?! (?:[a-z]+ )?(?:company|city|film"
    r"|place|type|kind|process|method|rule|law|service|product|country|book|team|system)\b)",
    re.IGNORECASE,
)
_WORD = re.compile(r"[\w'’-]+")
_MARKER = re.compile(
    r"\b(?:altered|unaltered|falsified|unfactual|modified|incorrect|false) (?:claim|fact|statement|version)\b"
    r"|#\s*\w*alter|\[(?:altered|false)\]"
    r"|step[_ ]?[1-4]\b|\bas an ai\b|\bI (?:cannot|can't) (?:help|assist)",
    re.IGNORECASE,
)
_NEGATIONS = word_set("not no never none neither nor cannot n't without hardly nothing nobody")
_FUNCTION = word_set(
    """if unless because although though while when before after since during until in on at by for from under with without
    despite instead the a an all most many few some no every each any more less both only it this that these those"""
)
"""Words that open a claim with a capital and are no name."""
_SUPPORT = word_set(
    "do does did is are was were be been has have had can could will would should may might must a an the any"
)
_LIGHT = word_set("a an the has have had is are was were be been do does did")
_LIKE = 0.9
"""Word overlap (Jaccard) from which two claims count as the same."""


def certain(passage: Passage, pair: GeneratedPair, repeats: Mapping[str, str]) -> tuple[GateVerdict, ...]:
    """The verdicts of all certain gates.

    Args:
        passage: t.
        pair: generated from t.
        repeats: near-duplicate passages of the corpus, each with the earlier one it repeats.

    Examples:
        >>> passage = Passage(document="a.md", first=0, sentences=2, text="The hall opened in 1850. It has two doors.")
        >>> pair = GeneratedPair(
        ...     claims=("The hall opened in 1850.",), altered=0, falsified="The hall opened in 1851.",
        ...     factual="In 1850 the hall opened.", unfactual="In 1851 the hall opened.")
        >>> [one.gate for one in certain(passage, pair, {}) if one.grade is Grade.FAILED]
        ['values']
    """
    of_pair = (gate(pair) for gate in (_form, _length, _subject, _values, _names, _negation, _one_stretch))
    return (*of_pair, _duplicates(passage, pair, repeats))


GATES = (
    "form", "claim-length", "pronoun-subject", "values", "names", "naive-negation", "one-stretch", "near-duplicate",
)  # fmt: skip
"""Names of the certain gates, in their order."""


def standing(verdicts: Sequence[GateVerdict]) -> tuple[State, str]:
    """A record's state and reason: failed verdicts before doubtful ones, the first of each named."""
    for grade, state in ((Grade.FAILED, State.REJECTED), (Grade.DOUBTFUL, State.DOUBTFUL)):
        first = next((one for one in verdicts if one.grade is grade), None)
        if first is not None:
            return state, f"{first.gate}: {first.why}" + (f" ({first.about})" if first.about else "")
    return State.ACCEPTED, ""


def _form(pair: GeneratedPair) -> GateVerdict:
    claims = (("a claim", claim) for claim in pair.claims)
    for name, text in (*claims, ("the falsified claim", pair.falsified), ("F", pair.factual), ("U", pair.unfactual)):
        if not text.strip():
            return verdict("form", f"{name} is empty")
        if marked := _MARKER.search(text):
            return verdict("form", f"{name} says {marked.group()!r}, which belongs to the instructions")
    if _plain(pair.falsified) in {_plain(claim) for claim in pair.claims}:
        return verdict("form", "the falsified claim is one of the claims")
    if _plain(pair.factual) == _plain(pair.unfactual):
        return verdict("form", "F and U are the same text")
    if len({_plain(claim) for claim in pair.claims}) < len(pair.claims):
        return verdict("form", "a claim stands there twice")
    return verdict("form", "")


def _length(pair: GeneratedPair) -> GateVerdict:
    for claim in (*pair.claims, pair.falsified):
        count = len(claim.split())
        if count > MOST_WORDS or count < 2:
            return verdict("claim-length", f"has {count} words; a claim has 2 to {MOST_WORDS}", claim, count)
    return verdict("claim-length", "")


def _subject(pair: GeneratedPair) -> GateVerdict:
    """ "There" is allowed: its subject follows it."""
    for claim in (*pair.claims, pair.falsified):
        match = PRONOUN.match(claim)
        if match and match.group().lower() != "there":
            why = f"begins with {match.group()!r}, which nothing in the claim explains"
            return verdict("pronoun-subject", why, claim)
    return verdict("pronoun-subject", "")


def _values(pair: GeneratedPair) -> GateVerdict:
    """Compares numbers, amounts and dates of both claims as values: twelve is 12."""
    before, after = (_amounts(text) for text in (pair.original, pair.falsified))
    changed = [*(before - after), *(after - before)]
    why = f"changes the number, amount or date {changed[0]!r}" if changed else ""
    return verdict("values", why, pair.falsified if why else "")


def _amounts(text: str) -> Counter[str]:
    counts = Counter(f"{amount.value:g} {amount.dimension}".strip() for amount in amounts(text))
    taken = [False] * (len(text) + 1)
    for amount in amounts(text):
        taken[amount.start : amount.end] = [True] * (amount.end - amount.start)
    bare = (match for match in re.finditer(r"\d+(?:[.,]\d+)*", text) if not any(taken[match.start() : match.end()]))
    return counts + Counter(match.group() for match in bare)


def _names(pair: GeneratedPair) -> GateVerdict:
    """Compares capitalised words; a claim's first word counts only if it is a name."""
    before, after = _capitals(pair.original), _capitals(pair.falsified)
    small = {word.lower() for text in (pair.original, pair.falsified) for word in _WORD.findall(text) if word.islower()}
    changed = [word for word in (before - after) + (after - before) if word.lower() not in small | _FUNCTION]
    first = {_first(pair.original), _first(pair.falsified)}
    changed = [word for word in changed if word not in first or _is_name(word, pair)]
    why = f"changes the name {changed[0]!r}" if changed else ""
    return verdict("names", why, pair.falsified if why else "")


def _capitals(text: str) -> Counter[str]:
    return Counter(word for word in _WORD.findall(text) if word[:1].isupper())


def _first(text: str) -> str:
    return next(iter(_WORD.findall(text)), "")


def _is_name(word: str, pair: GeneratedPair) -> bool:
    """True if a claim's first word is capitalised in mid-sentence in a text of the record."""
    inside = rf"(?<=[a-z,] ){re.escape(word)}\b"
    return any(re.search(inside, text) for text in (*pair.claims, pair.factual, pair.unfactual))


def _negation(pair: GeneratedPair) -> GateVerdict:
    """Fails claims that differ only by a "not" and its auxiliary."""
    before, after = (_expand(text) for text in (pair.original, pair.falsified))
    count = [sum(word in _NEGATIONS for word in text) for text in (before, after)]
    words = [Counter(_base(word) for word in text if word not in _NEGATIONS | _SUPPORT) for text in (before, after)]
    why = "only denies the claim" if count[0] != count[1] and words[0] == words[1] else ""
    return verdict("naive-negation", why, pair.falsified if why else "")


def _expand(text: str) -> list[str]:
    text = re.sub(r"\bcan['’]t\b|\bcannot\b", "can not", text.lower())
    text = re.sub(r"\bwon['’]t\b", "will not", text)
    return _WORD.findall(re.sub(r"n['’]t\b", " not", text))


def _base(word: str) -> str:
    """The verb without its ending, roughly: "opened" and "open" are one."""
    return re.sub(r"(?:ied|ies|ed|es|s|d)$", "", word) if len(word) > 3 else word


def _one_stretch(pair: GeneratedPair) -> GateVerdict:
    """U may differ from F in one sentence only."""
    region = changed_region(pair.factual, pair.unfactual)
    places = _ends(pair.factual)
    touched = {sum(end <= place for end in places) for place in range(region[0], max(region[1], region[0] + 1))}
    why = f"U differs from F in {len(touched)} sentences; it may differ in one" if len(touched) > 1 else ""
    return verdict("one-stretch", why, score=float(len(touched)))


def changed_region(before: str, after: str) -> tuple[int, int]:
    """Word range of `before`, from the first to the last word that `after` changes."""
    one, other = before.split(), after.split()
    changed = [code for code in SequenceMatcher(None, one, other, autojunk=False).get_opcodes() if code[0] != "equal"]
    return (changed[0][1], changed[-1][2]) if changed else (0, 0)


def changed_words(before: str, after: str) -> tuple[list[str], list[str]]:
    """The words of both texts from the first to the last difference."""
    one, other = before.split(), after.split()
    start = 0
    while start < min(len(one), len(other)) and one[start] == other[start]:
        start += 1
    end = 0
    while end < min(len(one), len(other)) - start and one[-1 - end] == other[-1 - end]:
        end += 1
    return one[start : len(one) - end], other[start : len(other) - end]


def _ends(text: str) -> list[int]:
    ends, place = [], 0
    for sentence in sentences_of(text) or [text]:
        place += len(sentence.split())
        ends.append(place)
    return ends[:-1]


def _duplicates(passage: Passage, pair: GeneratedPair, repeats: Mapping[str, str]) -> GateVerdict:
    earlier = repeats.get(passage.id)
    if earlier:
        return verdict("near-duplicate", f"the passage repeats {earlier}")
    words = [frozenset(_WORD.findall(claim.lower())) - _LIGHT for claim in pair.claims]
    for place, one in enumerate(words):
        for other in words[:place]:
            known = pair.claims[words.index(other)]
            if len(one & other) >= _LIKE * len(one | other) and _amounts(pair.claims[place]) == _amounts(known):
                return verdict("near-duplicate", "two claims say the same", pair.claims[place])
    return verdict("near-duplicate", "")


def _plain(text: str) -> str:
    return " ".join(_WORD.findall(text.lower()))
