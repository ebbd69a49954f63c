"""Closed word classes of English that the segmenter leans on. Lists, no logic: what is not here is not split."""

from __future__ import annotations


def word_set(listed: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(listed.split())


def any_of(listed: str) -> str:
    """A pattern for any of the phrases, which are patterns themselves, split by commas."""
    return "(?:" + "|".join(" ".join(phrase.split()) for phrase in listed.split(",")) + ")"


AUXILIARIES = word_set(
    """is are was were am has have had does do did can could will would shall should may might must cannot
    isn't aren't wasn't weren't hasn't haven't hadn't doesn't don't didn't can't couldn't won't wouldn't shouldn't
    ain't isnt arent wasnt werent doesnt dont didnt cant couldnt wont wouldnt"""
)
PASTS = word_set(
    """ate became began bought broke brought built came caught chose cost did died drank drew drove fell felt fought
    found flew forgot gave got grew had heard held hit kept knew led left lost made meant met paid put ran read rose
    said sang sat saw sent set shot slept sold spent spoke stood stole swam taught thought threw told took tore
    understood was were went won wore wrote"""
)
THIRD_PERSON = word_set(
    """allows appears becomes begins belongs carries comes consists contains costs covers depends describes does eats
    enjoys exists features finds follows gets gives goes grows has helps holds includes involves is keeps knows leads
    lets lies likes lives looks loves makes means needs occurs offers opens owns plays prefers produces provides
    refers remains represents requires runs says seems sells serves shows sits stands starts stays takes tastes teaches
    tells thinks uses varies receives wants wears wins works writes"""
)
BASES = word_set(
    """agree allow appear become begin believe belong buy carry come consist contain cook cover depend drink drive eat
    enjoy exist feel find follow get give go grow guess hate have hear help hike hold hope include keep know lead learn
    let like listen live look love make mean miss need occur offer own play prefer produce provide read recommend refer
    remain remember require run say see seem sell serve show sing spend start stay suggest suppose swim take talk
    tend think travel try understand use vary visit want watch wear wish work write"""
)
CLEAR_THIRD_PERSON = word_set(
    """allows appears becomes begins belongs comes consists contains depends describes exists follows gets gives goes
    grows has holds includes involves is keeps knows loves makes occurs opens owns prefers produces provides receives
    refers remains represents requires seems sells serves takes teaches tells thinks wants wears"""
)
"""Those that are never a plural noun: "the park opens", but not "the park features"."""
NOT_PAST = word_set(
    "bleed breed embed exceed feed hatred hundred indeed infrared kindred naked need proceed sacred seed speed succeed wicked"
)
"""Words in -ed that are no past tense."""

ADVERBS = word_set(
    """also always already actually currently generally just mostly never now often only probably really sometimes soon
    still then typically usually even definitely certainly personally originally eventually later not ever"""
)
SUBORDINATORS = word_set(
    """if when whenever while because although though since unless until after before as once whether whereas wherever
    what who how why where which"""
)
PRONOUNS = word_set("i you he she it they we this that these those there")
DETERMINERS = word_set(
    "the a an its his her their my your our many some most each every both all other another several few no"
)
NOT_IN_SUBJECT = word_set("who which that where when whose whom what if because and or but to than as so not")
"""Words after which a noun phrase's next verb may not be its own."""

CLITICS = ("'s", "'re", "'m", "'ve", "'ll", "'d")


def is_auxiliary(word: str) -> bool:
    """Whether `word` can only be a finite auxiliary."""
    return word.lower() in AUXILIARIES


def is_past(word: str) -> bool:
    """Whether `word` looks like a past tense."""
    lower = word.lower()
    return lower in PASTS or (lower.endswith("ed") and len(lower) > 4 and lower not in NOT_PAST)


def is_verb(word: str) -> bool:
    """Whether `word` can be a finite verb. An unknown word is none: a split that is not made does no harm."""
    lower = word.lower()
    return lower in AUXILIARIES or lower in THIRD_PERSON or lower in BASES or is_past(lower)


def is_pronoun_with_verb(word: str) -> bool:
    """Whether `word` is a pronoun with its verb attached: "it's", "they've"."""
    lower = word.lower()
    return lower.endswith(CLITICS) and lower.rsplit("'", 1)[0] in PRONOUNS
