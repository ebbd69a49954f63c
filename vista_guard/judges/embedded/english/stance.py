"""Figures without a stance: "It starts at 5:00" is a fact, whatever the claim-type head makes of it.

An opinion about something counted or timed says so: by who speaks or is spoken to, by a word of taste, value, feeling, advice,
degree or comparison, by the ending of an adjective. A claim with a figure, a time or a date and none of these is for documents
to prove. The list is wide on purpose: a claim that has one of its words is left to the head.
"""

from __future__ import annotations

import re

from vista_guard.judges.embedded.english.words import any_of, word_set

_FIGURE = re.compile(
    r"\d|\b(?:"
    + any_of(
        r"""two, three, four, five, six, seven, eight, nine, ten, eleven, twelve, \w+teen, twenty, thirty, forty, fifty, sixty,
        seventy, eighty, ninety, (?:twen|thir|for|fif|six|seven|eigh|nine)ty-\w+, hundreds?, thousands?, millions?, dozens?,
        half, quarter, noon, midnight, once, twice, hours?, weeks?, months?, years?, minutes?,
        (?:mon|tues|wednes|thurs|fri|satur|sun)days?, january, february, april, june, july, august, september, october,
        november, december"""
    )
    + r")\b",
    re.IGNORECASE,
)
_ASKS = re.compile(
    r"[!?]|^(?:(?:please|and|but|so|then|or) )?"
    + any_of(
        """add, allow, apply, arrive, ask, avoid, be, better, book, bring, buy, call, check, choose, come, consider,
        consult, contact, cook, cut, do, don['’]t, drink, eat, enjoy, expect, follow, forget, get, give, go, help, hold,
        how, join, keep, learn, leave, let, limit, look, make, meet, mind, mix, never, order, pay, pick, plan, press,
        protect, put, read, remember, rent, report, respect, rest, save, see, seek, set, share, sit, skip, sleep, speak,
        spend, start, stay, stop, study, switch, take, talk, tell, thank, thanks, train, trust, try, turn, use, visit, wait,
        walk, watch, wear, what, why, work, write"""
    )
    + r"\b(?!-)",
    re.IGNORECASE,
)
_PLAIN = word_set(
    r"""must deal look(?:s|ed)? right nothing fine difference hard fair ideal sense afraid sorry important simple easy smooth
    rough cheap waste treat sound(?:s|ed)? taste[sd]? smell\w*"""
)
"""Of the words below those that are as often none of a stance: "must" is a duty, "a deal" an offer, "looks" may be seen."""
_VALUES = r"""good, better, best, bad, worse, worst, great, nice, nicer, fine, finest, fair, fun, cool, sweet, superb, brilliant,
    perfect, ideal, decent, dull, sad, happy, glad, sorry, afraid, scared, proud, bored, tired, rushed, odd, ugly, weird,
    strange, wise, smart, clever, steep, cheap, dear, cosy, cozy, quaint, smooth, grim, vivid, excellent, pleasant, magical,
    brutal, hard, harder, easy, easier, tough, simple, rough, heavenly, overrated, overpriced, underrated, favou?rites?,
    dreams?, dreamy, nightmare, joy, pain, pity, shame, disgrace, disaster, mess, treat, gem, highlight, blast, bargain, deal,
    rip-?off, waste, must, pleasure, masterpiece, magic, charm, luck, sense, wonders?, difference,
    worth"""
_MINDS = r"""like[sd]?, lov(?:e|es|ed), hat(?:e|es|ed), prefer\w*,
    hop(?:e|es|ed), wish\w*, feel\w*, felt, seem\w*, look(?:s|ed)?, sound(?:s|ed)?, taste[sd]?, smell\w*, think\w*, thought,
    believe\w*, torture, bliss, heaven, hell, well spent,
    (?:dis)?agree\w*, nothing, important, right"""
_STANCE = re.compile(
    r"\b(?:"
    + any_of(
        r"""i, me, my, mine, we, us, our, ours, you, your, yours, assistant, wizard, speaker, user, agent, bot, apprentice,
        every(?:one|body), any(?:one|body), no(?:body| one), people,
        should, would, could, might, may, ought, needs?, deserv\w+, matters?, recommend\w*, suggest\w*, perhaps, maybe, probably,
        too, enough, much, many, plenty, little, lots?, hardly, barely, so, such, very, quite, rather, pretty, really,
        truly, just, only, bit, more, most, less, least, than, way,
        \w\w\w+i?est, \w\w\w+(?:ing|ful|ive|ous|able|ible|less|ish|some|ly),"""
        + f"{_VALUES}, {_MINDS}"
    )
    + r")\b",
    re.IGNORECASE,
)
_SURE_VALUES = ",".join(word for word in f"{_VALUES}, {_MINDS}".split(",") if word.strip() not in _PLAIN)
_JUDGES = re.compile(
    r"\b(?:"
    + any_of(
        rf"""{_SURE_VALUES}, amaz\w+, interest\w+, beautiful\w*, wonderful\w*, awesome, enjoy\w*, fascinat\w+, terribl\w+,
        horribl\w+, awful\w*, delicious, fantastic, incredibl\w+, lovely, boring, exciting, impressive, famous, crazy, funny,
        scary, mediocre, talented"""
    )
    + r")\b",
    re.IGNORECASE,
)


def judges(claim: str) -> bool:
    """Whether the claim has a word of value, taste or feeling, so that no document could settle all of it."""
    return _JUDGES.search(claim) is not None


def plain_figure(claim: str) -> bool:
    """Whether the claim has a figure, a time or a date, and no word of a stance at all."""
    return _FIGURE.search(claim) is not None and _STANCE.search(claim) is None and _ASKS.search(claim) is None
