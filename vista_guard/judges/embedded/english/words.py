"""Closed word classes of English and set phrases of talk, as lists and patterns.

Openers, small talk, frames around a fact: unlisted phrases are not split.
"""

from __future__ import annotations

import re
from functools import lru_cache


def word_set(listed: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(listed.split())


_LIGHT = word_set(
    """a an the of in on at to for with by from and or but is are was were be been has have had do does did it its this that
    these those he she they his her their i you we not as also there"""
)
_WORD = re.compile(r"\w+")


def content_words(text: str) -> frozenset[str]:
    """The content words of a text, in lower case."""
    return frozenset(_WORD.findall(text.lower())) - _LIGHT


STEM = 5
"""Letters by which words are compared: "opened" and "opening" share them."""


@lru_cache(maxsize=1024)
def word_stems(text: str) -> frozenset[str]:
    """The first letters of the content words of a text."""
    return frozenset(word[:STEM] for word in content_words(text))


def any_of(listed: str) -> str:
    """A pattern for any of the comma-separated patterns."""
    return "(?:" + "|".join(" ".join(phrase.split()) for phrase in listed.split(",")) + ")"


AUXILIARIES = word_set(
    """is are was were am has have had does do did can could will would shall should may might must cannot
    isn't aren't wasn't weren't hasn't haven't hadn't doesn't don't didn't can't couldn't won't wouldn't shouldn't
    ain't isnt arent wasnt werent doesnt dont didnt cant couldnt wont wouldnt"""
)
PASTS_ONLY = word_set(
    """ate became began broke chose did drank drew drove fell flew forgot gave grew knew rose sang saw shot spoke
    stole swam took tore went won wore wrote"""
)
"""Those that are no participles: "wrote", but not "sold"."""
PASTS = PASTS_ONLY | word_set(
    """bought brought built came caught cost died felt fought found got had heard held hit kept led left lost made
    meant met paid put ran read said sat sent set slept sold spent stood taught thought threw told understood was were"""
)
CLEAR_THIRD_PERSON = word_set(
    """allows appears becomes begins belongs comes consists contains depends describes exists follows gets gives goes
    grows has holds includes involves is keeps knows loves makes occurs opens owns prefers produces provides receives
    refers remains represents requires seems sells serves takes teaches tells thinks wants wears"""
)
"""Those that are never a plural noun: "the park opens", but not "the park features"."""
THIRD_PERSON = CLEAR_THIRD_PERSON | word_set(
    """carries costs covers does eats enjoys features finds helps leads lets lies likes lives looks means needs offers
    plays runs says shows sits stands starts stays tastes uses varies wins works writes"""
)
BASES = word_set(
    """agree allow appear become begin believe belong buy carry come consist contain cook cover depend drink drive eat
    enjoy exist feel find follow get give go grow guess hate have hear help hike hold hope include keep know lead learn
    let like listen live look love make mean miss need occur offer own play prefer produce provide read recommend refer
    remain remember require run say see seem sell serve show sing spend start stay suggest suppose swim take talk
    tend think travel try understand use vary visit want watch wear wish work write"""
)
NOT_PAST = word_set(
    "bleed breed embed exceed feed hatred hundred indeed infrared kindred naked need proceed sacred seed speed succeed wicked"
)
"""Words in -ed that are not past tense."""

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
    """True if `word` can only be a finite auxiliary."""
    return word.lower() in AUXILIARIES


def is_past(word: str) -> bool:
    """True if `word` looks like a past tense."""
    lower = word.lower()
    return lower in PASTS or (lower.endswith("ed") and len(lower) > 4 and lower not in NOT_PAST)


def is_verb(word: str) -> bool:
    """True if `word` can be a finite verb; False for unknown words, since a missed split does no harm."""
    lower = word.lower()
    return lower in AUXILIARIES or lower in THIRD_PERSON or lower in BASES or is_past(lower)


def is_pronoun_with_verb(word: str) -> bool:
    """True if `word` is a pronoun with its verb attached: "it's", "they've"."""
    lower = word.lower()
    return lower.endswith(CLITICS) and lower.rsplit("'", 1)[0] in PRONOUNS


_I = re.IGNORECASE

_YES_NO = (
    "yes, yeah, yep, yea, yup, no, nope, nah, sure, of course, absolutely, definitely, certainly, exactly, correct"
)
_REACTIONS = f"""{_YES_NO}, well, oh, ok, okay, hm+, ha(?:ha)*, lol, wow, right, great, cool, nice, awesome,
    perfect, interesting, thanks, thank you, hi, hello, hey, sorry, (?:good|great) question, sure thing, i see,
    that's right, that is right, you're right, you are right, no problem, no worries,
    don.?t worry(?: about (?:it|that))?"""

_LINKS = """actually, honestly, in fact, also, plus, fun fact, so, and, but, sadly, unfortunately, luckily,
    i hear (?:you|ya), as (?:far as )?i (?:recall|remember|know)"""

_CONNECTIVES = """however, moreover, furthermore, additionally, in addition, besides, finally, lastly, first(?:ly)?,
    second(?:ly)?, third(?:ly)?, next, afterwards, meanwhile, nevertheless, nonetheless, therefore, thus, hence,
    consequently, as a result, for example, for instance, in other words, in short, in summary, on the other hand, on top of that,
    in conclusion, similarly, likewise, by the way, that said"""
_NOTES = "(?:please )?(?:note|keep in mind|bear in mind|be aware)"

OPENER = re.compile(
    rf"(?:{any_of(_REACTIONS)}|{any_of(_LINKS)})"
    # Without a comma, only words that cannot belong to the sentence: "No they are", but not "No one".
    r"(?:\s+(?:there|again))?(?:\s*[,!.:;—-]+\s*|\s+(?=(?:i|it|he|she|they|we|you|there|that|this|the|my|a)(?:\s|')))"
    r"|(?:yes|yeah|yea|yep|oh|ah|and|but)\s+"
    rf"|{any_of(_CONNECTIVES)}\s*,\s+|{_NOTES} that\s+|then(?: again)?,?\s+(?=(?-i:[a-z\"]))",
    _I,
)
"""Openers of a sentence that state nothing. Applied until none matches."""

SMALL_TALK = re.compile(
    "(?:"
    + any_of(
        _REACTIONS
        + r""", true, indeed, agreed, welcome, bye, goodbye, please,
        good (?:morning|afternoon|evening|night|day|luck|idea),
        see you(?: soon| later)?, me (?:too|neither), same here, got it,
        (?:just )?(?:one|a) (?:moment|second|minute)(?: please)?, take care, my pleasure,
        you(?:'re| are) welcome, here you go, there you go, i agree, i know,
        good for you, my friend, for asking, for sharing,
        that(?:'s| is| sounds) (?:great|cool|nice|good|awesome|amazing|true|interesting|fine|funny),
        (?:it(?:'s| is) )?nice to meet you, how are you, (?:i(?:'m| am) )?(?:good|fine|great|well|doing well),
        (?:i )?hope (?:this|that|it) helps, have a (?:nice|great|good) (?:day|one|time|trip|evening|weekend),
        let me know if .*, feel free to (?:ask|contact|call|reach|let|get in|tell|share|write|message)\b.*,
        (?:thanks|thank you) for .*, happy to help, glad (?:i could|to) help,
        i(?:'m| am) (?:so |very |really )?sorry, (?:i )?apologi[sz]e, very much, so much, so,
        there, you, too, again, and,
        how about you, what about you"""
    )
    # A separator after each, or "hahaha" could be read in exponentially many ways.
    + r"(?:[\s,.!?:;)(-]+|$))+",
    _I,
)
"""A whole sentence without anything to check."""

QUESTION = re.compile(
    r"(?:and |but |so )?(?:(?:what|who|whom|whose|where|when|why|how|which)\s+(?:\w+\s+){0,2}?"
    rf"{any_of('is, are, was, were, do, does, did, can, could, would, will, should, has, have, about, if, kinds?')}\b"
    rf"|{any_of('do, does, did, is, are, was, were, have, has, can, could, would, will, should')}(?:n't)?\s+"
    rf"{any_of('i, you, he, she, it, they, we, there, this, that, your, the')}\b)",
    _I,
)
TAG = re.compile(
    r"(?:,\s+(?:ok|okay|yes|no|yeah|true|see|get it|got it|remember|you know|you see|don't you think|wouldn't you say"
    r"|can you believe it|did you know(?: that)?)|,?\s+(?:right|correct|huh|eh"
    r"|(?:is|are|was|were|do|does|did|has|have|would|wo|ca)n't"
    r" (?:i|you|he|she|it|they|we|there)))\s*\?+\s*$",
    _I,
)
"""Turns a statement into a question that still states it: "Paris is big, isn't it?" """

EXCLAMATION = re.compile(r"(?:what an?|how (?!to\b|many\b|much\b|long\b|far\b|old\b))\b.*!", _I | re.DOTALL)
INVITATION = re.compile(r"(?:please )?feel free to (?=\w)", _I)
"""Permits what follows."""
ELLIPTIC = re.compile(
    r"(?:i|you|he|she|it|they|we|that|this|there)(?: (?:actually|really|sure|definitely|certainly))?\s*"
    rf"(?:'s|'re|'m|{any_of('is, are, am, was, were, do, does, did, have, has, had, can, could, will, would, should')})"
    r"(?:\s*n't| not)?(?: (?:too|either|also|so|indeed|actually|not))?",
    _I,
)
"""A subject and an auxiliary, whose meaning is elsewhere: "Yes, it does." """

ASKED_IF_KNOWN = re.compile(
    r"(?:did|do) you know (?:that )?|are you aware (?:of the fact )?that |have you heard that ", _I
)
NOT_KNOWN = re.compile(
    r"i (?:(?:(?:did ?n'?t|did not|never)(?: really| even)? (?:know|knew|realize|realise|realized))"
    r"|had no (?:idea|clue)|was(?: ?n't| not) aware) (?:that )?",
    _I,
)
KNOWN = re.compile(
    r"i (?:also |do |just |actually |have |really )*(?:know|knew|think|thought|believe|believed|guess|suppose|heard|read|learned)"
    r"(?: for a fact)?,? (?:that )?"
    r"|i(?: a|')m (?:\w+ )?(?:afraid|sorry(?= we (?:can|do|are))),? (?:that )?(?!(?:of|to|for|not|so|but)\b)",
    _I,
)
"""Frames to drop: the fact behind them can be checked, and a hedge must not hide it."""
REMARKED = re.compile(
    r"(?:(?:i (?:\w+ )?(?:find|found|think|thought) it|it(?:'s| is| was)) (?:(?:so|very|really|quite|pretty|too) )?"
    r"(?:a (?:pity|shame)|interesting|amazing|fascinating|funny|crazy|cool|great|good|bad|sad|nice|surprising|incredible|wild)"
    r"(?: to (?:know|hear|see|learn))?|i(?: a|')m (?:so |very |really )?(?:glad|happy|sad|surprised|sorry)) (?:that|how) ",
    _I,
)
"""Frames to keep beside the fact that they presuppose (VISTA App. A.1)."""
SUBJECTLESS = re.compile(
    r"(?:not (?:really |quite |entirely |too )?sure|(?:do ?n[o']t|dont) (?:really )?know|glad|no idea|no clue|dunno|ca ?n[o']t"
    r"|cannot|unable to|wish)\b",
    _I,
)
"""Beginnings that lost their "I": "Not sure, it may be 1925." """

CATAPHORIC = re.compile(
    r"\b(?:following|follows|below|here|these|such|several|some|few|many|various|ways?|tips?|steps?|reasons?|options?|things?"
    r"|examples?|lists?|features?|details?|facts?|points?|aspects?|factors?|items?|types?|kinds?|categor(?:y|ies)|ideas?|summary"
    r"|overview|answers?|information|including|includes?|like|two|three|four|five|six|seven|eight|nine|ten)\b",
    _I,
)
"""Words of a lead-in that only announce, and claim nothing: "There are three ways to get there:"."""

YES_SIGN = re.compile("[\U0001f44d\u2705\u2714\u2611\U0001f4af\U0001f44c\U0001f197\U0001f64c]")
NO_SIGN = re.compile("[\U0001f44e\u274c\u2716\u2718\u2717\U0001f6ab\u26d4]")
ANSWER_SIGN = re.compile(f"{YES_SIGN.pattern}|{NO_SIGN.pattern}")
"""Emoji that answer yes or no."""
