"""Words that state, question or deny the following clause, deny a neighbour, or mark their own clause as not stated.

Stating words are listed (`STATING`, `SURE`, `AUTHORITIES`): an unknown verb before "that" leaves the clause open. An even number
of denying words in a clause cancels out. Words about saying and truth are a closed set: a sentence, bracket or label of only
such words can deny its neighbour: "Scratch that".
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from vista_guard.judges.embedded.english.verbs import has_verb
from vista_guard.judges.embedded.english.words import any_of, is_past, is_verb, word_set

_WORD = re.compile(r"\w+")
_LIKELY_VERB = re.compile(r"\S+ (?:\S+ ){1,9}?[a-z]+(?:[^s\W]s|ed) (?:\d+|the|an?|at|in|on|by|to|from|for|with|as)\b")
_NO_HOLDER = word_set(
    """the a an it is was were are be been being has have had that this which who some many most few people one
        others by of in to and or also as so says said say claims claimed believed think thinks thought"""
)


class MentionKind(StrEnum):
    """Kinds of mention: why a clause is not stated."""

    ASKED = "asked"
    REPORTED = "reported"
    DENIED = "denied"
    SUPPOSED = "supposed"
    FICTION = "fiction"
    PLANNED = "planned"
    NEARLY = "nearly"


@dataclass(frozen=True)
class Region:
    """A mention: characters `start` to `end` of a sentence. `holder`: words that name its speaker."""

    start: int
    end: int
    kind: MentionKind
    holder: frozenset[str] = frozenset()
    denies: bool = False
    """True if the sentence itself says that it is false."""
    doubts: bool = False
    """True if it denies somebody's words or thoughts: "I doubt that", "nobody says that". Counts in claims only."""
    inner: str = ""
    """The statement in it, if not the text behind its "that"."""


@dataclass(frozen=True)
class SentenceReading:
    """A sentence with its stated part, its mentions, and the statement that it denies."""

    said: str
    stated: str
    regions: tuple[Region, ...] = ()
    denied: str = ""
    doubted: str = ""
    """The statement that a speaker denies with this sentence, even if a document would not."""
    missed: str = ""
    """The event that nearly happened, and so did not."""

    @property
    def is_rule(self) -> bool:
        """True if it states a consequence, and mentions only its condition."""
        return bool(self.stated) and all(
            region.kind is MentionKind.SUPPOSED and self.said[region.start :][:3].lower() == "if "
            for region in self.regions
        )

    def framed_like(self, claim: SentenceReading) -> bool:
        """True if the claim has a frame of the same kind and speaker."""
        return any(
            ours.kind is theirs.kind and (not theirs.holder or not ours.holder or ours.holder & theirs.holder)
            for ours in self.regions
            for theirs in claim.regions
        )


def is_clause(text: str) -> bool:
    """True if a verb follows a subject: a known one, or a word that looks like one ("weighs 2 kilograms")."""
    return has_verb(text) or _LIKELY_VERB.match(text.strip("\"'“” ")) is not None


def holder(text: str) -> frozenset[str]:
    """Content words of the speaker: the text before the verb."""
    words = [word for word in _WORD.findall(text.lower()) if word not in _NO_HOLDER]
    return frozenset(words)


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
"""Verbs whose "that" clause is stated: they presuppose or ascertain it."""

SAYING = re.compile(
    any_of(
        """say, says, said, saying, stat(?:e|es|ed|ing), write, writes, wrote, written, report, reports, reported,
        mentions?, mentioned, declar\\w+, tells?, told, adds?, added"""
    ),
    _I,
)
"""Verbs that state an authority's words, and leave open anyone else's."""

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
"""Verbs that leave their clause open, with or without "that"."""

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
"""Nouns whose "that" clause is somebody's thought."""

FACTS = re.compile(
    any_of(
        "facts?, evidence, proofs?, signs?, news, knowledge, discover(?:y"
        "|ies), findings?, confirmation, truth, certainty, case, so"
    ),
    _I,
)
"""Nouns whose "that" clause is a fact, unless negated."""

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
        out, opposite, contrary, reverse, fools?, impossible(?! for (?:me|us|the assistant)\b),
        secret, unproven, unsubstantiated, april fools?,
        otherwise, outdated, obsolete, psych,
        falsehood"""
    )
    + r"\b|[✗✘❌🚫]",
    _I,
)
"""Words that call a statement false; an even number of them and negations cancels out."""

NEGATION = re.compile(
    r"\b(?:not|never|no|nobody|none|nothing|neither|nor|hardly|scarcely|cannot|without|fail\w*|unable"
    r"|refus\w*|yet to|few|fools?|liars?"
    r"|wrongly|falsely|mistakenly|erroneously|incorrectly|far from|if|would|could|might|were it|lack\w*|remains to)\b|n't\b",
    _I,
)
"""Words that stop a verb from stating: "no record shows that", "would prove that"."""

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
"""Speakers without authority, whatever else the phrase contains: "a visitor to the museum"."""

LABELS = word_set(
    """myth myths rumour rumor rumours rumors fiction legend legends joke jokes hypothesis proposal proposals
        proposed draft satire rejected retracted caption hint headline slogan sample translate misconception
        misconceptions hoax hoaxes lies untrue quiz fake speculation allegation allegations gossip prank parody
        superseded obsolete outdated fantasy superstition superstitions falsehood falsehoods fallacy fallacies
        nonsense fabrication unconfirmed alleged hypothetical spoof debunked fictional imaginary"""
)
"""Words of a heading, a title or a "label:" that mark the following text as not stated."""
LONE_LABELS = word_set(
    """claim lie false wrong incorrect theory dream plan prediction forecast scenario suppose imagine guess opinion
        error erratum question q novel story tale trivia mistake assumption objection"""
)
"""The same, but only as the whole label: "Claim: ...", not "How to file a claim"."""
STATING_LABELS = word_set("fact facts truth true answer reality correct right correction")
"""Words that cancel this: "Fact: ..." under "Myths"."""

LEFT_OVER = word_set(
    """the an it is was were are be been being has have had do does did this that these those there which who whom
        whose what not no nobody none nothing some many most few people one others by of in on at to for from with and
        or but also as so if than then a we they he she i you would could should might may must can will who's once
        just only even his her its their our my your"""
)
"""Words that state nothing once the frame around them is removed."""


TURNING = re.compile(
    r"\b(?:not(?! only\b)|no(?! (?:wonder|matter)\b)|never|nobody|none|nothing|nowhere|neither|nor|hardly)\b|n't\b|cannot",
    _I,
)
"""Words of grammatical negation."""
_TRUTH = re.compile(
    r"\b(?:true|truth\w*|correct|right|case|so|real|reality|accurate|facts?|happen\w*|believ\w+|trust|sa(?:y|ys|id|ying)|statement|vouch|supported|confirmed|agree|holds?)\b",
    _I,
)
_CLOSED = LEFT_OVER - word_set("if may might") | word_set(
    """statement statements claim claims claimed sentence sentences line above below previous preceding last first
        former latter next following follows fact facts true truth truthful correct right case reality real word words
        thing things anything everything something all every information answer answers part bit point item items list
        text verdict status result say says said saying state states tell tells told write wrote written read believe
        believes believed belief think thinks thought hear heard remark idea notion trust mean meant happen happened
        get got gets was made make take took back out please sorry oops whoops apologies apology correction wait
        actually really simply indeed however though although yet still ever quite entirely completely totally
        absolutely well oh ah hmm nope nah rather merely purely common course second thoughts anyone anybody somebody
        someone everybody everyone whoever me us them him user assistant am did does do now earlier before here there
        about against except again myself yourself let obviously clearly sadly unfortunately much any way like more at
        least into accurate pulling leg time sites sources page both either far further from and but hold water wise
        don doesn didn isn wasn aren weren won wouldn shouldn couldn can ca wo t s re ve d ll m lol yeah
    edit update quote stand vouch supported confirmed longer documents document agree hold holds story according"""
)
_TOKEN = re.compile(r"[^\W\d_]+|\d+")
_PARTS = re.compile(r"[,;:.!?…()\[\]\n]|\s[-–—]+\s|\b(?:and|but|yet|though|although|however)\b", _I)
_BREAK = re.compile(
    r"[,;:…]\s*|\s+[-–—]+\s*|\.{3}\s*|\s*[(\[]|\s(?=(?:but|yet|and|is|was|has|have|are|does|did|lacks)\b|[✗✘❌🚫])", _I
)
_MOST_WORDS, _LONGEST_TAIL = 14, 120
_LABEL = re.compile(r"\W{0,4}(?:x\]\W{0,2})?(?P<label>[✗✘❌🚫]|[^:]{2,80}:)\s+(?=\S)")
_BEHIND = re.compile(
    r"\b(?:that|it|which|contrary|opposite|reverse|so|no|errors?|mistakes?|correct\w*|(?:delet|remov)\w+)\b", _I
)


_BARE_NO = re.compile(
    r"\W*(?:(?:lol|no|but|and|well|oh|wait|actually|absolutely|definitely|certainly|of course|except)\b\W*)*"
    r"(?:(?:it|he|she|they|this|that)\s)?(?:(?:do|does|did|has|have|had|is|was|are|were|will|can)(?:n't| not| never)"
    r"|not(?: really| at all)?|never|hardly|nope|lol no|as if)\W*",
    _I,
)
"""A denial without content of its own: "It did not." """


def denies(frame: str) -> bool:
    """True if a clause of the frame denies something. "Nobody doubts" does not."""
    return any(_is_odd(part) for part in _PARTS.split(frame.replace("’", "'")))


def is_closed(text: str) -> bool:
    """True if the text has only words about saying and truth."""
    words = _TOKEN.findall(TURNING.sub(" ", DENYING.sub(" ", text.replace("’", "'"))).lower())
    return len(words) <= _MOST_WORDS and _CLOSED.issuperset(words)


@lru_cache(maxsize=4096)
def speaks_of_neighbour(text: str) -> bool:
    """True if the text denies something that only its neighbour names."""
    if len(text) > _LONGEST_TAIL or text.rstrip("\"')] ").endswith(("?", ":")) or not is_closed(text):
        return False
    if _BARE_NO.fullmatch(text.replace("’", "'")):
        return True
    odd = [part for part in _PARTS.split(text.replace("’", "'")) if _is_odd(part)]
    return any(DENYING.search(part) or _TRUTH.search(part) for part in odd)


def retracted_clause(sentence: str) -> str:
    """The clause that the end of its sentence denies: "X, but that is wrong", "X (not true)"; "" if there is none."""
    clause = ""
    for match in reversed([*_BREAK.finditer(sentence, max(0, len(sentence) - _LONGEST_TAIL))]):
        tail = sentence[match.end() :].strip(" .!?)]…\"'")
        if not is_closed(tail):
            break
        if tail.lower() in ("not", "no", "or not") or speaks_of_neighbour(tail):
            clause = sentence[: match.start()]
    return clause if clause and is_clause(clause) else ""


def disowned_clause(sentence: str) -> str:
    """The clause that a label denies: "Strike this: X", "✗ X". "That is wrong: X" denies the sentence before."""
    label = _LABEL.match(sentence)
    if label is None or _BEHIND.search(label[0]) or not speaks_of_neighbour(label["label"].rstrip(":")):
        return ""
    return sentence[label.end() :]


def _is_odd(clause: str) -> bool:
    return (len(DENYING.findall(clause)) + len(TURNING.findall(DENYING.sub(" ", clause)))) % 2 == 1


_STORY = any_of(
    r"""novels?, films?, movies?, stor(?:y|ies), tales?, plays?, (?:video )?games?, poems?, legends?, myths?, dreams?,
        fairy tales?, comics?, fantas(?:y|ies), parod(?:y|ies), sketch(?:es)?, jokes?, fiction, simulations?,
        cartoons?, sitcoms?, musicals?, operas?, ballads?, alternat(?:e|ive)
        (?:history|histories|timelines?|universes?|worlds?), daydreams?, imagination, satires?, sagas?, screenplays?,
        scripts?, thought experiments?, role-?plays?, fan fictions?"""
)

_FORWARD: tuple[tuple[MentionKind, re.Pattern[str]], ...] = (
    (
        MentionKind.REPORTED,
        re.compile(
            r"\b(?:allegedly|reportedly|supposedly|purportedly|ostensibly|rumou?redly|seemingly|apparently"
            r"|purported|alleged|so-called"
            r"|wrongly|falsely|mistakenly|erroneously"
            r"|(?:is|was|are|were|been|be)\s+(?:\w+\s+)?(?:said|believed|thought|rumou?red|alleged|reported"
            r"|claimed|supposed|assumed|suspected|presumed|held|reputed|feared) to\s"
            r"|(?:seem|appear)(?:s|ed)? to)\b",
            _I,
        ),
    ),
    (
        MentionKind.SUPPOSED,
        re.compile(
            r"\b(?:possibly|perhaps|maybe|presumably|conceivably|hypothetically|theoretically|in theory"
            r"|(?:would|could|should|might|may|ought to)(?:n't| not| well| \w+ly)? have\s"
            r"|(?<!there )(?<!you )might\b(?! (?:also|want|be able))|unless\b|lest\b|in case\b|as (?:if|though)\b)",
            _I,
        ),
    ),
    (
        MentionKind.PLANNED,
        re.compile(
            r"\b(?:(?:is|was|are|were|been|be)\s+(?:\w+\s+)?(?:planned|scheduled|meant|intended|set|slated"
            r"|proposed|expected|projected|forecast|due|hoped|going|about) to\s"
            r"|(?:was|were) to (?!\w+ (?:of|the)\b)(?=\w)"
            r"|(?<!you )(?<!we )(?<!^)(?<!may )(?<! or )(?:plan|hope|want|intend|aim|wish|seek|expect|promise|vow"
            r"|threaten|consider|propos)(?:s|es|ed|d|ing|ned|ning)?\s+(?:to\s|\w+ing\b)|sought to\s"
            r"|(?:plans|proposals?|bids?|campaigns?|calls|ambitions?|hopes|desire|intentions?|petitions?"
            r"|a (?:plan|hope|dream|promise)) to\s)",
            _I,
        ),
    ),
    (
        MentionKind.NEARLY,
        re.compile(
            r"\b(?:(?:try|tries|tried|trying|attempt\w*|fail\w*|refus\w+|declin\w+|neglect\w*|forgot|struggl\w+)\s+to\s"
            r"|came close to|come close to|(?:on|to) the (?:verge|brink|point) of|stop(?:s|ped)? short of"
            r"|just short of|all but\s(?=\w+ed\b)"
            r"|short of\s(?=\w+ing\b)|instead of\s(?=\w+ing\b)|rather than\s(?=\w+ing\b)|prevented from|kept from"
            r"|barred from|without (?:ever |\w+ly )?(?=\w+ing\b))",
            _I,
        ),
    ),
)
_MISSED = re.compile(
    r"fail|refus|declin|neglect|forgot|c[ao]me close|(?:on|to) the|stop|just short|all but|\w+ from", _I
)
"""Cues of `NEARLY` that deny their clause; "without paying" and "rather than walking" only describe something else."""
_ALMOST = re.compile(r"\b(?:almost|nearly|narrowly|practically|virtually|as good as)\s+(?P<word>[\w'-]+)", _I)
_NO_VERB = re.compile(
    r"(?:all|always|every\w*|never|no\w*|as|half|exactly|certain\w*|identical\w*|entire\w*|any\w*|a|an|the|\d.*)$", _I
)

_SUPPOSE = re.compile(
    r"^(?:so |now |let us |let's |just |please |for a moment,? )*(?:suppos(?:e|ing)|imagin(?:e|ing)"
    r"|assum(?:e|ing)|pretend|picture|say|what if|if only|had (?:we|i|you|he|she|it|they|the|someone"
    r"|somebody|anyone)"
    r"|were (?:it|he|she|they|the|we)|should (?:it|he|she|they|the|we|you)|let us (?:say|assume|suppose|imagine|pretend))\b",
    _I,
)
_IF = re.compile(
    r"(?:^|(?<=[,;:(] )|(?<=\bbut )|(?<=\band ))(?:even |only |as )?(?:if|unless|provided|assuming"
    r"|supposing|in case|on condition)\b(?! (?:you|i) (?:wonder|ask|must know|like)\b|\s+so\b)",
    _I,
)
_IN_STORY = re.compile(
    r"(?:^|[,;(—–-]\s*|\b(?:as|but|and) )(?:only |as )?(?:in|on|within|throughout|according to"
    rf"|per)\s+(?:(?!,)[\w'’\"-]+\s+){{0,5}}?{_STORY}\b",
    _I,
)
_STORY_TELLS = re.compile(
    rf"\b{_STORY}\b(?:[^,;.]{{0,40}}?)\b(?:has it|goes|says?|said|tells?|told|imagin\w+|describ\w+|claims?"
    r"|relates?|recounts?|portray\w*|depict\w*|pretend\w*|shows?|reveals?|reads?|opens with)\b"
    r"|\b(?:hero|heroine|protagonist|narrator|villain|main character|fictional|fictitious|imaginary|make-believe)\b",
    _I,
)
_ACCORDING = re.compile(
    r"(?:^|,\s*|\b)according to (?P<who>[^,;]{1,80}?)(?=,|;|[.!]?$)|\b(?:in"
    r"|on) (?P<whose>[\w' -]{1,40}?(?:'s|'|his|her|their)) (?:\w+ )?(?:view|opinion|account|version"
    r"|telling|eyes|mind|estimation|reading)\b",
    _I,
)
_TAIL = re.compile(
    r",\s*(?:or )?(?:so |as |at least |or )?(?P<who>(?!\s|and |but |who |which |that |while "
    rf"|so )[^,;]{{0,50}}?)\b(?P<word>{THINKING.pattern}|{SAYING.pattern}|goes|has it|have it)\b(?: (?:in"
    rf"|on|at|to|with|yesterday|later|today|then|\w+day)\b[^,;]{{0,30}})?$|,\s*(?:allegedly|supposedly"
    r"|reportedly|perhaps|maybe|possibly|presumably|if (?:you|we|one|he|she|they|the|rumou?rs?)\b[^,]*)$",
    _I,
)
_QUOTED = re.compile(
    r"(?<![\w\"“])[\"“](?=[^\s\"])(?P<said>[^\"“”]{12,400}?)(?<=\S)[\"”](?![\w\"])"
    r"|(?<!\w)'(?=\w)(?P<single>[^']{12,400}?)(?<=\S)'(?!\w)"
)
_INVERTED = re.compile(
    rf",[\"”]?\s*(?P<word>{THINKING.pattern}|{SAYING.pattern}) (?P<who>(?:the|an?|his|her|their|our|my|one"
    rf"|some|[A-Z])[^,;:]{{0,60}})$",
    _I,
)
_AS_SAID = re.compile(
    rf"^as (?!(?:you|we)\b)(?P<who>[^,]{{1,60}}?) (?P<word>{SAYING.pattern}|{THINKING.pattern}|has it|have it)\b[^,]{{0,40}},",
    _I,
)
_CHOICE = re.compile(
    r"\(?\b[aA1][.)]\)?\s*(?:right|true|yes|correct)\b.*\b(?:wrong|false|no|incorrect)\b"
    r"|\b(?:true or false|fact or fiction|right or wrong|yes or no)\b",
    _I,
)


def cues(sentence: str) -> Iterator[Region]:
    """Clauses that one of their words marks as mentions, and sentences that are mentions as a whole."""
    yield from _sentence_cues(sentence)
    for kind, pattern in _FORWARD:
        for match in pattern.finditer(sentence):
            who = holder(sentence[: match.start()]) if kind is MentionKind.REPORTED else frozenset()
            missed = _MISSED.match(match[0])
            inner = f"{sentence[: match.start()]}{sentence[match.end() :]}" if missed else ""
            yield Region(match.start(), len(sentence), kind, who, inner=inner)
    for match in _ALMOST.finditer(sentence):
        word = match["word"]
        if not _NO_VERB.match(word) and (is_verb(word) or is_past(word) or word.endswith("s")):
            inner = f"{sentence[: match.start()]}{sentence[match.start('word') :]}"
            yield Region(match.start(), len(sentence), MentionKind.NEARLY, inner=inner)
    for match in _IF.finditer(sentence):
        yield Region(match.start(), len(sentence), MentionKind.SUPPOSED)
    for match in _QUOTED.finditer(sentence):
        yield from _quotation(sentence, match)


def _sentence_cues(sentence: str) -> Iterator[Region]:
    """Mentions that cover the whole sentence."""
    end = len(sentence)
    if _SUPPOSE.match(sentence):
        yield Region(0, end, MentionKind.SUPPOSED)
    if _CHOICE.search(sentence):
        yield Region(0, end, MentionKind.ASKED)
    if _IN_STORY.search(sentence) or _STORY_TELLS.search(sentence):
        yield Region(0, end, MentionKind.FICTION)
    disclaimed = disowned_clause(sentence)
    if disclaimed:
        yield Region(end - len(disclaimed), end, MentionKind.DENIED, denies=True, inner=disclaimed)
    by = _AS_SAID.match(sentence) or _INVERTED.search(sentence.rstrip(".! "))
    if by and not (SAYING.fullmatch(by["word"]) and AUTHORITIES.search(by["who"]) and not STRANGERS.search(by["who"])):
        yield Region(0, end, MentionKind.REPORTED, holder(by["who"]))
    for match in _ACCORDING.finditer(sentence):
        who = match["who"] or match["whose"]
        if match["whose"] or not _is_trusted(who):
            yield Region(0, end, MentionKind.REPORTED, holder(who))
    tail = _TAIL.search(sentence.rstrip(".! "))
    if tail and not (
        tail["word"]
        and SAYING.fullmatch(tail["word"])
        and AUTHORITIES.search(tail["who"])
        and not STRANGERS.search(tail["who"])
    ):
        yield Region(0, end, MentionKind.REPORTED, holder(tail["who"] or ""))
    back = retracted_clause(sentence)
    if back:
        yield Region(0, end, MentionKind.DENIED, denies=True, inner=_reported_clause(back))


_TOLD = re.compile(
    rf"(?:^|\b(?:{THINKING.pattern}|{SAYING.pattern}|{IDEAS.pattern}|hear|heard|read|has it|list)\b(?: you| us| me)?,? )"
    r"(?:(?:\w+ )?that )(?P<told>.+)"
    rf"|\b(?:{THINKING.pattern}|{SAYING.pattern}) (?P<bare>.+)",
    _I,
)


def _reported_clause(sentence: str) -> str:
    """The reported clause of "Many believe X"; else the whole sentence."""
    report = _TOLD.search(sentence)
    inner = (report["told"] or report["bare"]) if report else ""
    return inner if is_clause(inner) else sentence


def _quotation(sentence: str, match: re.Match[str]) -> Iterator[Region]:
    """Quoted text of four words or more, so no name or term."""
    quoted = match["said"] or match["single"]
    if len(quoted.split()) < 4 or not is_clause(quoted):
        return
    remaining = sentence[: match.start()] + " " + sentence[match.end() :]
    untrue = speaks_of_neighbour(remaining.strip())
    if untrue or not (
        remaining.strip(" .,:;!?") == "" or (AUTHORITIES.search(remaining) and not STRANGERS.search(remaining))
    ):
        yield Region(
            match.start(),
            match.end(),
            MentionKind.DENIED if untrue else MentionKind.REPORTED,
            holder(remaining),
            untrue,
            inner=quoted,
        )


def _is_trusted(who: str) -> bool:
    """True if the source behind "according to" is an authority or a name."""
    if STRANGERS.search(who) or re.search(rf"\b{IDEAS.pattern}\b", re.sub(r"\breports?\b", "", who), _I):
        return False
    return AUTHORITIES.search(who) is not None or re.search(r"\b[A-Z]", who) is not None
