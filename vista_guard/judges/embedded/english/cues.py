"""Lexical cues that back the claim-type head where wording decides: refusals, plain tastes, a speaker's own life, figures.

The head is nearly blind to "does not know". The cues are few and precise; "I think it opened in 1925" is a hedged fact, not a
cue. A claim with a figure, a time or a date and no word of stance is for documents to prove; the stance list is wide on
purpose, since a claim with any of its words is left to the head.

Also lists the verbs of assistants' texts and their forms. Verbs that are also nouns ("charges", "travel") are separate: only
their neighbours tell which they are.
"""

from __future__ import annotations

import re
from functools import lru_cache

from vista_guard.judges.embedded.english.words import (
    AUXILIARIES,
    BASES,
    CLEAR_THIRD_PERSON,
    NOT_PAST,
    PASTS,
    THIRD_PERSON,
    any_of,
    word_set,
)

_SPEAKER = any_of("the assistant, the wizard, the speaker, the bot, the agent, i")
_SELF = any_of(f"{_SPEAKER}, we")
_WHO = any_of(
    "the assistant, the wizard, the speaker, the system, the model, the bot, the agent, the user, the apprentice, i, we"
)
_NOT = any_of(r"(?:do|does|did|is|are|am|was|were|can|could|will|would|ca|wo)(?:\s?n'?t|\snot), cannot")
_KNOW = any_of("know, sure, certain, aware, recall, remember, familiar, confident")
_TELL = any_of(
    """answer, verify, confirm, say, tell, comply, discuss, find, advise, predict, recall, remember, comment, determine,
    condone, endorse, speculate, diagnose"""
)
_DO = any_of(
    f"""{_TELL}, help, assist, provide, share, offer, fulfil, fulfill, give, access, engage, support, book, open, view,
    hear, listen, display, generate, browse, process, translate, produce, perform, guarantee, schedule, promote,
    facilitate"""
)
_KNOWLEDGE = any_of("information, info, idea, details, data, knowledge, answer, clue, way of knowing")
_MATTER = any_of(f"{_KNOWLEDGE}, access, record")
_CANNOT = any_of("can't, cannot, can not, ca n't, couldn't, could not, won't, will not")
_IS = any_of("is, are, am, was, were, feels, remains")

_UNABLE = any_of(rf"{_CANNOT}, {_IS} (?:\w+ )?unable to, {_NOT} (?:\w+ )?able to")
_UNSURE = rf"{_IS} (?:\w+ )?(?:unsure|uncertain|unaware)\b"
_UNHEARD = r"(?:has|have|had)(?:\s?n'?t| not| never) (?:\w+ )?heard (?:of|about)\b"
_ITSELF = r"(?!\s(?!(?:on|about|of|for|to|as|at|by|from|in|and|or|that|whether|how|yet|available|regarding)\b)\w)"
"""Behind a noun that describes no other: "no information", but not "no information desk"."""

_DECLINES = (
    rf"{_NOT} (?:\w+ ){{0,2}}?{_KNOW}\b",
    rf"{_NOT} (?:\w+ )?able to {_DO}\b",
    rf"{_NOT} (?:\w+ )?have (?:\w+ ){{0,2}}?{_MATTER}\b",
    rf"{_CANNOT} (?:\w+ )?{_DO}\b",
    rf"{_IS} (?:\w+ )?unable to\b",
    rf"(?:has|have|had) no (?:\w+ )?{_MATTER}\b",
    rf"lacks? (?:\w+ )?{_MATTER}\b",
)
_DOES_NOT_KNOW = (
    rf"{_NOT} (?:(?:be|yet|quite|even|\w+ly) )*{_KNOW}\b",
    rf"{_UNABLE} (?:\w+ )?{_TELL}\b",
    rf"{_UNABLE} (?:help|assist)(?: (?:you|the user))?(?: with (?:that|this|it))?\W*$",
    rf"{_UNABLE} (?:provide|give|share|offer) (?:(?:you|the user) )?(?:\w+ ){{0,2}}?{_KNOWLEDGE}\b{_ITSELF}",
    rf"{_NOT} (?:\w+ )?have (?:\w+ ){{0,2}}?{_KNOWLEDGE}\b{_ITSELF}",
    rf"(?:have|had)(?:\s?n't| not)(?: got)? (?:\w+ ){{0,2}}?{_KNOWLEDGE}\b{_ITSELF}",
    rf"(?:have|had) (?:got )?no (?:\w+ )?{_KNOWLEDGE}\b{_ITSELF}",
    rf"lack (?:\w+ )?{_KNOWLEDGE}\b{_ITSELF}",
)
"""Those of `_DECLINES` that hold for "we": what a service does not do, documents tell."""
_ABSTENTION = tuple(
    re.compile(rf"\b{who}\b(?:\s(?!we\b)[\w',-]+){{0,3}}?\s{rest}", re.IGNORECASE)
    for who, ways in ((_SPEAKER, _DECLINES), ("we", _DOES_NOT_KNOW))
    for rest in (*ways, _UNSURE, _UNHEARD)
)
_WE_ARE = re.compile(r"\b(we)'(?:(re)|ve)\b", re.IGNORECASE)
"""Its verb must be a word of its own for the patterns above."""
_QUOTED = re.compile(r"[\"“][^\"“”]*[\"”]")
_TASTE = re.compile(
    rf"^{_WHO}(?:'s favou?rite|'s opinion| (?:\w+ )?"
    + any_of(
        """loves?, likes?, liked, loved, hates?, hated, enjoys?, enjoyed, prefers?, hopes?, wish(?:es)?, wants?,
        admires?, appreciates?, recommends?, suggests?, agrees?, disagrees?, finds? it,
        would (?:love|like|recommend|suggest|prefer|give (?:it|this|that|them) \\w+ (?:out of|stars?|points?)),
        is (?:\\w+ )?(?:interested in|a (?:\\w+ )?fan|into|glad|happy|sad|excited|surprised|busy|afraid|scared)"""
    )
    + r")\b",
    re.IGNORECASE,
)
_VALUE = re.compile(
    any_of(
        """^in (?:my|the assistant's|the wizard's) opinion\\b, \\b(?:would|might) be wise to\\b,
        \\b(?:it'?s|it is|is) worth\\b,
        ^it(?:'s| is| was) (?:\\w+ )?(?:too bad|sad|nice|great|good|amazing|cool|funny) (?:that|to|how|when)\\b,
        ^you (?:can['’]?t|cannot|won['’]?t) (?:go wrong|beat|regret)\\b"""
    ),
    re.IGNORECASE,
)
_ADVICE = re.compile(
    any_of(
        """^(?:you|the user|people|everyone) (?:should|ought to)\\b,
        \\bit(?:'s| is) (?:\\w+ )?(?:recommended|advisable|advised|best|wise) to (?:consult|contact|ask|seek|speak to|talk to)\\b,
        ^(?:please )?(?:consult|contact|see|ask|call|talk to|speak to) (?:a|an|your) (?:\\w+ )?(?:doctor|lawyer|nurse|expert|
        pharmacist|professional|vet|dentist|therapist|advisor|specialist)\\b,
        ^(?:if|when) (?:in doubt|you(?:'re| are) (?:un|not )sure)\\b[^.;]*\\W (?:ask|consult|contact|see|call) (?:a|an|your)\\b"""
    ),
    re.IGNORECASE,
)
_LIFE = re.compile(
    rf"^{_SELF}(?:'s (?:\w+ )?"
    + any_of(
        """mother, father, mom, dad, brother, sister, son, daughter, wife, husband, girlfriend, boyfriend, friend,
        family, kids?, children, dog, cat, grandmother, grandfather, grandma, grandpa, house, hair, back"""
    )
    + "| "
    + any_of(
        """has (?:\\w+ )?been to, went to, grew up, tried, visited, used to, has never, has always,
        has an? (?:girlfriend|boyfriend|daughter|son|dog|cat|wife|husband|brother|sister)"""
    )
    + r")\b",
    re.IGNORECASE,
)
_AS_SUBJECT = re.compile(
    r"^(?:the (?:assistant|wizard|speaker)) (?:(?:\w+ly|also|never|always|often|once) )?(?!"
    + any_of(
        """thinks?, thinking, thought, believes?, believed, says?, said, claims?, claimed, mentions?, mentioned, states?,
        stated, knows?, knew, heard, hears?, read, reads?, writes?, wrote, explains?, explained, reports?, reported,
        assumes?, assumed, told, tells?, offers?, offered, provides?, provided, ships?, shipped, accepts?, accepted,
        sends?, sent, sells?, sold, charges?, charged, refunds?, refunded"""
    )
    + r"\b)(?:(?:is|was|has|does)(?:n't)?|had|did(?:n't)?|went|saw|got|grew|won|[a-z]{3,}s|[a-z]{2,}ed)\b",
    re.IGNORECASE,
)
"""The assistant as a subject: its life, its plans. Not its reports and services: documents can support those."""
_OWNED = re.compile(
    any_of(
        r"""\b(?:my|the (?:assistant|wizard|speaker|user)'s) (?:absolute |all-time )?(?:favou?rites?|least favou?rite),
        ^the user (?:has(?:n't| not| never)?|had) (?:read|seen|watched|been to|tried|visited|met|heard of)\b"""
    ),
    re.IGNORECASE,
)
_COURTESY = re.compile(
    "^"
    + any_of(
        """welcome(?: to (?:the|our|my)|[.!]), enjoy, try, check out, hope, let us, let.s, don.t forget,
        (?:be|make) sure, consider"""
    )
    + r"\b",
    re.IGNORECASE,
)


_RECOMMENDS = re.compile(
    rf"^{_WHO} (?:\w+ )?(?:recommends?|suggests?|advises?|would (?:recommend|suggest|advise))\b"
    r"|^(?!the assistant\b)[\w' -]{1,50}? (?:should|ought to|must|needs? to|ha(?:s|ve) to|may|can(?:not)?"
    r"|(?:is|are)(?: not|n't)? (?:allowed|permitted|required|advised|recommended|supposed|encouraged|free"
    r"|welcome|entitled))(?: not|n't)?\b"
    r"|^(?:please |always |never |do not |don['’]t )?(?:add|allow|apply|ask|avoid|bring|call|check|choose|clean|click|close"
    r"|connect|contact|consult|cook|cut|drink|eat|enter|fill|follow|give|hold|insert|install|keep|leave|let|make|mix"
    r"|open|pay|place|plug|pour|press|put|read|remove|replace|restart|rinse|run|save|select|send|set|shake|sign|store|switch|take"
    r"|tap|turn|type|use|wait|wash|wear|wipe)\b",
    re.IGNORECASE,
)


def recommends(claim: str) -> bool:
    """True if the claim recommends, instructs or permits something, in any mood."""
    return any(pattern.search(claim) for pattern in (_RECOMMENDS, _ADVICE, _COURTESY))


def without_quotes(claim: str) -> str:
    """The claim with "…" for quotations, which say nothing about its own type. A lone quotation stays."""
    unquoted = _QUOTED.sub('"…"', claim)
    return unquoted if len(unquoted.split()) > 3 else claim


@lru_cache(maxsize=1024)
def abstains(claim: str) -> bool:
    """True if the claim refuses, or says that its speaker does not know. Quotations do not count."""
    said = _WE_ARE.sub(lambda match: f"{match[1]} {'are' if match[2] else 'have'}", _QUOTED.sub(" ", claim))
    return any(pattern.search(said) for pattern in _ABSTENTION)


_OF_TELLING = re.compile(
    rf"\b(?:{_SELF}|me|my|{_MATTER}|mention(?:s|ed)?|say(?:s|ing)?|said|question|specif(?:y|ies|ied)|stated?)\b",
    re.IGNORECASE,
)


def may_abstain(claim: str) -> bool:
    """True if the claim speaks of its speaker, or of what is said or known: "It won't cost you a thing" does not."""
    return _OF_TELLING.search(claim) is not None and not of_a_house(claim)


_HOUSE = re.compile(
    r"(?:[\w' -]{1,40}, |(?:on|in|at|for|during|due to) (?:[\w'-]+ ){1,4}?)?we\b(?! (?:may|might|should|could|all|know)\b)",
    re.IGNORECASE,
)


def of_a_house(claim: str) -> bool:
    """True if the claim tells of the service that its speaker answers for: "We offer 10% off"."""
    return _HOUSE.match(claim) is not None and not abstains(claim)


_UNSOURCED = re.compile(
    r" ?[\[(][^\])]{0,40}\b(?:not?|nowhere)\b[^\])]{0,60}\b(?:sources?|context|documents?|passages?|text)\b"
    r"[^\])]{0,20}[\])]\W*\Z",
    re.I,
)


def without_mark(claim: str) -> str:
    """The claim without the brackets at its end that say of it that no source has it: "[not mentioned in the context]"."""
    return _UNSOURCED.sub(".", claim)


def marked_unsourced(claim: str) -> bool:
    """True if there are such brackets."""
    return _UNSOURCED.search(claim) is not None


def subjective(claim: str) -> bool:
    """True if the claim is a taste, a value judgement, a speaker's own life, advice or a courtesy."""
    return of_a_mind(claim) or any(pattern.search(claim) for pattern in (_ADVICE, _COURTESY))


@lru_cache(maxsize=1024)
def of_a_mind(claim: str) -> bool:
    """True if the claim is a taste, a value judgement or a speaker's own life: no document proves or refutes one.

    Advice and courtesies are not included: "You should take it with water" is checked against a leaflet that mentions it.
    """
    return any(pattern.search(claim) for pattern in (_TASTE, _VALUE, _LIFE, _OWNED))


@lru_cache(maxsize=1024)
def personal(claim: str) -> bool:
    """True if the claim is about the assistant itself. It may still be a refusal."""
    return _AS_SUBJECT.search(claim) is not None


_PLAIN = word_set(
    r"""must deal look(?:s|ed)? right nothing fine difference hard fair ideal sense afraid sorry important simple easy smooth
    rough cheap waste treat sound(?:s|ed)? taste[sd]? smell\w*"""
)
"""Words of the lists below that often take no stance: "must" is a duty, "a deal" an offer, "looks" may be visible."""
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


_AS_WISHED = re.compile(r"(?<=\w) you (?:like|want|wish|please|prefer)(?=[ .!]*$)", re.IGNORECASE)
"""Behind "any time" and "as many as": no taste, but that the choice is free."""


def chooses_freely(phrase: str) -> bool:
    """True for "any day you like", "as late as you want"."""
    return _AS_WISHED.search(phrase) is not None


def judges(claim: str) -> bool:
    """True if the claim has a word of value, taste or feeling, so that no document could settle all of it."""
    return _JUDGES.search(_AS_WISHED.sub("", claim)) is not None


def takes_stance(claim: str) -> bool:
    """True if the claim has a word of taste, value, advice or degree, or names the speaker or listener."""
    return _STANCE.search(claim) is not None


def plain_figure(claim: str) -> bool:
    """True if the claim has a figure, and no word of stance, advice, a speaker's life or ignorance."""
    figure = any(map(str.isdigit, claim)) and not takes_stance(claim)
    return figure and not (subjective(claim) or recommends(claim) or personal(claim) or abstains(claim))


def with_s(verb: str) -> str:
    """The third person singular of a base verb."""
    if verb.endswith(("ch", "sh", "ss", "x", "z", "o")):
        return f"{verb}es"
    if verb.endswith("y") and verb[-2:-1] not in "aeiou":
        return f"{verb[:-1]}ies"
    return f"{verb}s"


VERBS = word_set(
    """span accept accompany achieve acquire activate adapt add adjust admit adopt advise affect afford agree allow alter announce
    appear apply appoint appreciate approve arise arrange arrive ask assess assign assist assume attach attend attract
    avoid bake become begin believe calibrate cancel configure deploy detach dilute dispose encrypt enrol enroll execute
    inhale knead moisten navigate parse peel qualify reboot recharge redeem refrigerate reheat reschedule restart soak
    sterilise tighten unsubscribe belong bring browse build calculate carry cater celebrate choose chop collect combine
    commence communicate compare compete compile comply comprise confirm connect consider consist consult consume contain
    contact continue contribute convert cover create deactivate declare decide define delete deliver deny depart depend
    derive describe deserve destroy detect determine develop differ disable disconnect discuss dissolve divide download
    drain earn eat elect eliminate emit employ enable encourage enforce enjoy ensure enter establish evaluate evolve
    exceed exclude exist expand expect expire explain extend fall fill finish forbid forget fry fund gain gather generate
    get give go govern grow happen have hear identify ignore implement imply improve include indicate inform inherit
    insert inspect install instruct introduce invest invite involve join keep know launch learn lend lose maintain make
    manage mean meet melt mention merge migrate modify multiply notify obtain occur omit operate organise organize
    originate overwrite participate perform persist possess pour prefer preheat prepare prescribe prevent proceed prohibit
    protect prove provide publish receive recommend recover recycle reduce refer reflect register reject relate rely
    remain remember remind remove renew reopen replace represent require resemble resolve respond restore restrict retain
    retry retrieve reveal rinse save seek seem select sell send serve settle simmer sing sit solve speak specify spend
    sprinkle stir stem submit subscribe suffer suggest suit surround survive swallow sync take tell tend terminate throw
    tolerate unlock unplug upload validate vary verify wait warn weigh whisk win wipe withdraw withstand write"""
)
"""Verbs that are never nouns in a list."""
NOUN_VERBS = word_set(
    """address aim complete correct separate empty secure reply rotate gather vote answer average balance bill block boil
    book break burn call care cause change charge check claim clean click climb close comment compost cook cool cost count
    crash cross cut damage date deal default delay deposit design display dose double drink drive drop dry email end
    estimate exit experience face feature feed feel fight figure file find fit fix float flow fly focus fold form function
    grant guarantee guide handle heat help hike hire hold host house import increase inject issue jump kick lack land last
    lead leave let lie lift light like limit link list live load lock log look love lower mail mark match matter measure
    mix move name need note notice number offer open order own pack park pass pay permit pick pin place plan play point
    power present press price print process produce profit promise pull purchase push put range rate reach read record
    refund refuse release rent repair reply report request reserve rest result return ride rise roll rotate run rush
    schedule scroll seal season seat see set shake share shift ship show shut sign skip sleep slice slow sound split
    spread stand start state stay step stop store stretch study supply support surf surge swim switch table talk tap
    target taste teach test thank think total touch track trade train transfer transport travel treat trigger try turn
    type update upgrade use value view visit vote walk want wash waste watch water wear welcome wish work wrap yield"""
)
"""Verbs that may be nouns or adjectives; only their neighbours tell."""
CLEAR_S = (frozenset(map(with_s, VERBS)) | CLEAR_THIRD_PERSON) - {
    "has",
    "proceeds",
    "stems",
    "funds",
    "suits",
    "contacts",
}
UNSURE_S = (frozenset(map(with_s, NOUN_VERBS | BASES)) | THIRD_PERSON) - CLEAR_S - {"has"}
_CLEAR_BASES = VERBS - {"contact", "launch", "fund", "suit", "stem", "fall", "cover", "register"}
_UNSURE_BASES = (NOUN_VERBS | VERBS | BASES) - _CLEAR_BASES
FUNCTION_WORDS = word_set(
    """a an the this that these those its his her their my your our what who whom whose which how why where when if whether
    as to of in at for with by from on about into onto over under up down out off than then and or but so not no all any some
    each every both more most less such it them him us me there here"""
)
PREPOSITIONS = word_set(
    """of in at for with by from on about into onto over under up down out off within without between during until till after
    before per via through across against near outside inside behind above below beyond along around towards upon since to"""
)
SAYING = word_set(
    """say says said think thinks thought believe believes believed know knows knew claim claims claimed assume assumes
    assumed hope hopes hoped hear heard sure argue argues argued wish wishes assure assures ask asks asked wonder wonders"""
)
REPORTING = SAYING | word_set(
    """tell tells told report reports reported note notes noted state states stated mean means meant show shows showed shown
    suggest suggests suggested feel feels felt find finds found ensure ensures ensured check checks checked confirm
    confirms confirmed explain explains explained announce announces announced expect expects expected guarantee
    guarantees require requires required recommend recommends recommended let lets make makes made see sees saw warn warns
    warned agree agrees agreed understand understands understood"""
)
"""Verbs that may have a clause as object, so that a noun behind them may be that clause's subject."""
INTRANSITIVE = word_set(
    """moved lived died worked studied travelled traveled returned remained retired served settled stayed graduated appeared
    acted arrived departed belonged existed happened occurred emerged"""
)
"""Verbs without an object: their past is no participle."""
_IRREGULAR_PLURALS = word_set(
    """children people men women feet teeth mice geese staff police cattle clergy data media criteria you we they these those
    fish"""
)
_NO_PLURALS = word_set(
    "bus gas lens series is was has this plus yes thus across business various previous always perhaps"
)


def can_be_verb(word: str) -> bool:
    """True if `word` is a form of a listed verb."""
    lower = word.lower()
    listed = lower in CLEAR_S or lower in UNSURE_S or lower in VERBS or lower in NOUN_VERBS or lower in BASES
    return listed or lower in AUXILIARIES or lower in PASTS or (lower.endswith("ed") and lower not in NOT_PAST)


def is_clear_base(word: str) -> bool:
    """True if `word` is a base form that is no noun."""
    return word in _CLEAR_BASES


def is_unsure_base(word: str) -> bool:
    """True if `word` is a base form that may be a noun."""
    return word in _UNSURE_BASES


def is_base(word: str) -> bool:
    """True if `word` is a base form, even if it is a noun as well."""
    return is_clear_base(word) or is_unsure_base(word)


def is_plural(word: str) -> bool:
    """True if `word` looks like a plural noun."""
    lower = word.lower()
    if lower in _IRREGULAR_PLURALS:
        return True
    return (
        lower.endswith("s") and not lower.endswith(("ss", "us", "is")) and len(lower) > 3 and lower not in _NO_PLURALS
    )
