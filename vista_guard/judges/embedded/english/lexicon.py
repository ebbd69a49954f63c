"""Verbs of the texts that assistants write, and the few nouns that need care. Lists and their forms, no grammar.

Many English verbs are also nouns ("charges", "travel"). They are listed separately: only their neighbours tell which they are.
"""

from __future__ import annotations

from vista_guard.judges.embedded.english.words import (
    AUXILIARIES,
    BASES,
    CLEAR_THIRD_PERSON,
    NOT_PAST,
    PASTS,
    THIRD_PERSON,
    word_set,
)


def _with_s(verb: str) -> str:
    if verb.endswith(("ch", "sh", "ss", "x", "z", "o")):
        return f"{verb}es"
    if verb.endswith("y") and verb[-2] not in "aeiou":
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
"""Never nouns that one would join with others."""
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
"""Verbs that may be nouns or adjectives, so that their neighbours must tell."""
CLEAR_S = (frozenset(map(_with_s, VERBS)) | CLEAR_THIRD_PERSON) - {
    "has",
    "proceeds",
    "stems",
    "funds",
    "suits",
    "contacts",
}
UNSURE_S = (frozenset(map(_with_s, NOUN_VERBS | BASES)) | THIRD_PERSON) - CLEAR_S - {"has"}
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
"""Verbs that may have a clause as their object, so that a noun behind them may be the subject of that one."""
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
