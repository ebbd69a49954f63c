"""Words that state, question or deny what follows them, and the kinds of mention. Lists, no logic.

Words that state are listed (`STATING`, `SURE`, `AUTHORITIES`): an unknown verb before "that" leaves open what follows.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from vista_guard.judges.embedded.english.verbs import has_verb
from vista_guard.judges.embedded.english.words import any_of, word_set

_WORD = re.compile(r"\w+")
_LIKELY_VERB = re.compile(r"\S+ (?:\S+ ){1,9}?[a-z]+(?:[^s\W]s|ed) (?:\d+|the|an?|at|in|on|by|to|from|for|with|as)\b")
_NO_HOLDER = word_set(
    """the a an it is was were are be been being has have had that this which who some many most few people one
        others by of in to and or also as so says said say claims claimed believed think thinks thought"""
)


class MentionKind(StrEnum):
    """Why a statement is not stated."""

    ASKED = "asked"
    REPORTED = "reported"
    DENIED = "denied"
    SUPPOSED = "supposed"
    FICTION = "fiction"
    PLANNED = "planned"
    NEARLY = "nearly"


@dataclass(frozen=True)
class Region:
    """Characters `start` to `end` of a sentence, which it mentions. `holder`: words of who says or thinks so."""

    start: int
    end: int
    kind: MentionKind
    holder: frozenset[str] = frozenset()
    denies: bool = False
    """True if the sentence says that it is false, nobody in between."""
    doubts: bool = False
    """True if who says it says so of somebody's word or mind: "I doubt that", "nobody says that". It counts in claims alone."""
    inner: str = ""
    """The statement in it, where that is not what follows its "that"."""


@dataclass(frozen=True)
class SentenceReading:
    """A sentence, read: what it states, what it mentions and how, and what it says is false."""

    said: str
    stated: str
    regions: tuple[Region, ...] = ()
    denied: str = ""
    doubted: str = ""
    """What a speaker denies by saying the sentence, whatever a document would mean by it."""
    missed: str = ""
    """What nearly happened, and so did not."""

    @property
    def is_rule(self) -> bool:
        """True if it states a consequence, and mentions only its condition."""
        return bool(self.stated) and all(
            one.kind is MentionKind.SUPPOSED and self.said[one.start :][:3].lower() == "if " for one in self.regions
        )

    @property
    def is_told(self) -> bool:
        """True if it states nothing, and tells what a stranger says or what somebody makes up."""
        kinds = {one.kind for one in self.regions}
        told = min(
            (one for one in self.regions if one.kind is MentionKind.REPORTED), key=lambda one: one.start, default=None
        )
        # In what is told a word such as "one hour" is nobody who tells it.
        strange = told is not None and STRANGERS.search(self.said.removesuffix(told.inner)) is not None
        return not self.stated and (strange or MentionKind.FICTION in kinds)

    def framed_like(self, claim: SentenceReading) -> bool:
        """True if the claim has the same kind of frame and the same speaker as this sentence."""
        return any(
            ours.kind is theirs.kind and (not theirs.holder or not ours.holder or ours.holder & theirs.holder)
            for ours in self.regions
            for theirs in claim.regions
        )


def is_clause(text: str) -> bool:
    """True if a verb follows a subject: a known one, or a word that looks like one ("weighs 2 kilograms")."""
    return has_verb(text) or _LIKELY_VERB.match(text.strip("\"'“” ")) is not None


def holder(text: str) -> frozenset[str]:
    """Content words of who says something: what stands before the verb."""
    found = [word for word in _WORD.findall(text.lower()) if word not in _NO_HOLDER]
    return frozenset(found)


_I = re.IGNORECASE

STATING = re.compile(
    any_of(
        r"""show(?:s|n|ed|ing)?, prov(?:e|es|ed|en|ing), confirm\w*, reveal\w*, establish\w*, demonstrat\w+, verif\w+,
        finds?, found, discover\w*, learn\w*, know\w*, knew, reali[sz]\w+, notic\w+, not(?:e|es|ed|ing),
        document(?:s|ed|ing)?, record(?:s|ed|ing)?, certif\w+, remember\w*, remind\w*, sees?, saw, seen,
        recogni[sz]\w+, acknowledg\w+, admit\w*, conced\w+, confess\w*, announc\w+, agree[sd]?, ensur\w+, means?,
        meant, emphasi[sz]\w+, stress\w*, indicat\w+, determin\w+, conclud\w+, observ\w+, understand\w*, understood,
        ascertain\w*, attest\w*, guarantee\w*, highlight\w*, underlin\w+, explain\w*, regret\w*, forgets?, forgot,
        follows?, happens?, sure, aware, proud, glad, pleased"""
    ),
    _I,
)
"""Verbs whose "that" states what follows: they presuppose it, or say that it was made sure."""

SAYING = re.compile(
    any_of(
        """say, says, said, saying, stat(?:e|es|ed|ing), write, writes, wrote, written, report, reports, reported,
        mentions?, mentioned, declar\\w+, tells?, told, adds?, added"""
    ),
    _I,
)
"""Verbs that state what an authority says, and leave open what anyone else does."""

THINKING = re.compile(
    any_of(
        r"""claim(?:s|ed|ing)?, thinks?, thought, thinking, believ\w+, alleg(?:e|es|ed|ing), argu(?:e|es|ed|ing),
        assert(?:s|ed|ing)?, assum(?:e|es|ing), suppos(?:e|es|ed|ing), imagin(?:e|es|ed|ing), suspect(?:s|ed)?,
        guess(?:es|ed)?, doubt(?:s|ed)?, den(?:y|ies|ied), hop(?:e|es|ed|ing), fear(?:s|ed)?, wish(?:es|ed)?,
        dream(?:s|t|ed)?, predict\w*, speculat\w+, insist\w*, contend\w*, boast\w*, pretend\w*, swears?, swore, bets?,
        feels?, felt, pray\w*, gossip\w*, whisper\w*, jok(?:e|es|ed|ing), lies, lied"""
    ),
    _I,
)
"""Verbs that leave open what follows, with or without a "that"."""

OPEN_VERBS = re.compile(
    any_of(
        r"""maintain\w*, suggest\w*, propos\w+, hint\w*, impl(?:y|ies|ied), heard?, hears, complain\w*, estimat\w+,
        promis\w+, consider\w*, conjectur\w+, theori[sz]\w+, disput\w+, question\w*, reject\w*, wonder\w*, demand\w*,
        ask\w*, rumou?r\w*, assumed, expect\w*, conceiv\w+, postulat\w+, hypothesi[sz]\w+, provided, providing, wrote,
        read, teach\w*, taught, warn\w*, accus\w+, charg\w+"""
    ),
    _I,
)

IDEAS = re.compile(
    any_of(
        r"""rumou?rs?, claims?, ideas?, notions?, beliefs?, theor(?:y|ies), allegations?, myths?, legends?, stor(?:y|ies),
        tales?, suggestions?, possibilit(?:y|ies), chances?, hopes?, fears?, hypothes[ei]s, assumptions?,
        (?:mis)?conceptions?, impressions?, illusions?, lies?, suspicions?, views?, opinions?, speculations?,
        accusations?, assertions?, arguments?, thoughts?, feelings?, proposals?, dreams?, pretence, conjectures?,
        predictions?, expectations?, reports?, charges?, boasts?, hoax(?:es)?, gossip, superstitions?,
        fantas(?:y|ies), jokes?, errors?, mistakes?, delusions?, whispers?, scenarios?, premises?, doubts?"""
    ),
    _I,
)
"""Nouns whose "that" tells what somebody thinks."""

FACTS = re.compile(
    any_of(
        "facts?, evidence, proofs?, signs?, news, knowledge, discover(?:y"
        "|ies), findings?, confirmation, truth, certainty, case, so"
    ),
    _I,
)
"""Nouns whose "that" tells what is so, unless it is negated."""

SURE = re.compile(
    any_of(
        "true, clear, certain, known, evident, obvious, undeniable, undisputed, indisputable, correct, documented, proven"
    ),
    _I,
)
UNSURE = re.compile(
    any_of(
        """doubtful, unlikely, possible, conceivable, probable, likely, plausible, disputed, unproven, unconfirmed,
        unclear, questionable, debatable, arguable, imaginable, thinkable, uncertain, implausible"""
    ),
    _I,
)
DENYING = re.compile(
    r"\b"
    + any_of(
        r"""nothing could be (?:further|farther) from, anything but, far from, false\w*, untruths?, untrue, wrong\w*,
        incorrect\w*, inaccura\w+, erroneous\w*, mistak\w+, misconce\w+, misunder\w+, misinform\w*, misl\w*ed,
        misleading, misspoke\w*, misstat\w+, errors?, erred, errs, lies?, lied, lying, liars?, myths?, hoax\w*,
        (?:pure |complete |total )?(?:fiction|fantasy), fictitious, fabricat\w+, invent\w*, ma(?:k(?:e|es|ing)|de)(?:
        \w+)? up, fake\w*, bogus, nonsense, rubbish, baseless, unfounded, absurd, fallac\w+, jok(?:e|es|ed|ing),
        kidding, pranks?, doubt\w*, den(?:y|ies|ied|ying|ial), disput\w+, contest(?:s|ed)?, reject\w*, refut\w+,
        debunk\w*, disprov\w+, disagree\w*, discredit\w*, retract\w*, withdr[ae]w\w*, (?:take|took|taking|taken)(?:
        \w+)? back, strike, struck, scratch, scrap, ignore\w*, disregard\w*, forget\w*, delet\w+, remov\w+, crossed
        out, opposite, contrary, reverse, fools?, impossible, secret, unproven, unsubstantiated, april fools?,
        otherwise, outdated, obsolete, psych,
        falsehood"""
    )
    + r"\b|[✗✘❌🚫]",
    _I,
)
"""What says of a statement that it is false; an even number of such words and negations says that it is not."""

NEGATION = re.compile(
    r"\b(?:not|never|no|nobody|none|nothing|neither|nor|hardly|scarcely|cannot|without|fail\w*|unable"
    r"|refus\w*|yet to|few|fools?|liars?"
    r"|wrongly|falsely|mistakenly|erroneously|incorrectly|far from|if|would|could|might|were it|lack\w*|remains to)\b|n't\b",
    _I,
)
"""What takes away that a verb states: "no record shows that", "would prove that"."""

AUTHORITIES = re.compile(
    r"\b(?:"
    + any_of(
        r"""officials?, authorit\w+, museum\w*, reports?, stud(?:y|ies), records?, registers?, archives?, curators?,
        directors?, spokes\w+, ministr\w+, ministers?, police, plaques?, compan\w+, universit\w+, research\w*,
        scientists?, government\w*, departments?, guides?, manuals?, handbooks?, guidelines?, websites?, statements?,
        documents?, scholars?, historians?, experts?, doctors?, judges?, courts?, agenc\w+, institut\w+,
        organi[sz]ations?, cit(?:y|ies), council\w*, census, data, statistics, statutes?, laws?, acts?,
        constitutions?, surveys?, analys[ei]s, biolog\w+, engineers?, inspectors?, committee\w*, commission\w*,
        encyclop\w+, almanac\w*, dictionar\w+, we, journals?, papers?, article, text, bible, page, sources,
        catalogues?, certificates?, bureau, leaflets?, brochures?, timetables?, labels?, polic(?:y|ies), terms,
        contracts?, specifications?, manufacturers?, editors?, auditors?"""
    )
    + r")\b",
    _I,
)
STRANGERS = re.compile(
    r"\b(?:"
    + any_of(
        r"""rivals?, visitors?, some, many, others?, critics?, people, tabloids?, rumou?rs?, legends?, myths?, gossip,
        tales?, stor(?:y|ies), tradition, folklore, hearsay, novels?, films?, movies?, jokes?, opponents?, former,
        self-\w+, fake, forged, old, liars?, fools?, conspirac\w+, pranks?, pranksters?, competitors?, tourists?,
        uncles?, neighbou?rs?, friends?, one"""
    )
    + r")\b",
    _I,
)
"""Who is no authority, whatever else the phrase holds: "a visitor to the museum"."""

LABELS = word_set(
    """myth myths rumour rumor rumours rumors fiction legend legends joke jokes hypothesis proposal proposals
        proposed draft satire rejected retracted caption hint headline slogan sample translate misconception
        misconceptions hoax hoaxes lies untrue quiz fake speculation allegation allegations gossip prank parody
        superseded obsolete outdated fantasy superstition superstitions falsehood falsehoods fallacy fallacies
        nonsense fabrication unconfirmed alleged hypothetical spoof debunked fictional imaginary"""
)
"""Words of a heading, a title or a "label:" that take away that what follows is stated."""
LONE_LABELS = word_set(
    """claim lie false wrong incorrect theory dream plan prediction forecast scenario suppose imagine guess opinion
        error erratum question q novel story tale trivia mistake assumption objection"""
)
"""Words that do so when they are the whole label: "Claim: ...", but not "How to file a claim"."""
STATING_LABELS = word_set("fact facts truth true answer reality correct right correction")
"""Words that undo it: "Fact: ..." under "Myths"."""

LEFT_OVER = word_set(
    """the an it is was were are be been being has have had do does did this that these those there which who whom
        whose what not no nobody none nothing some many most few people one others by of in on at to for from with and
        or but also as so if than then a we they he she i you would could should might may must can will who's once
        just only even his her its their our my your"""
)
"""Words that state nothing when a frame was cut out around them."""
