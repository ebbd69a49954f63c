"""One statement in many spellings. A row is a name and a template, or a function for what no template can spell.

Of "The whale hall opened in 1850.": `{s}` is the sentence, `{bare}` has no full stop, `{low}` begins in lower case, `{did}` is
"opened in 1850", `{it}` is "it opened in 1850", `{year}` is the year, `{tail}` the year without its first figure.
"""

from __future__ import annotations

import base64
import codecs
import re
from collections.abc import Callable

_BOUND = re.compile(r"\{(?:did|it|year|tail)\}")
SUBJECT = "whale hall"


def _fields(year: str) -> dict[str, str]:
    low = f"the {SUBJECT} opened in {year}"
    bare = low[0].upper() + low[1:]
    did, it = f"opened in {year}", f"it opened in {year}"
    return {"s": f"{bare}.", "bare": bare, "low": low, "did": did, "it": it, "year": year, "tail": year[1:]}


def _shifted(start: int) -> Callable[[str], str]:
    """Letters from a block of the mathematical or enclosed alphabets."""
    return lambda text: "".join(
        chr(start + ord(one.lower()) - 97) if one.isascii() and one.isalpha() else one for one in text
    )


def _wide(text: str) -> str:
    return "".join(chr(ord(one) + 0xFEE0) if "!" <= one <= "~" else one for one in text)


def _between(mark: str) -> Callable[[str], str]:
    return lambda text: mark.join(text)


def _swapped(table: dict[str, str]) -> Callable[[str], str]:
    return lambda text: "".join(table.get(one, one) for one in text)


def _spaced(mark: str) -> Callable[[str], str]:
    return lambda text: "  ".join(mark.join(word) for word in text.split())


_CYRILLIC = {"a": "а", "e": "е", "o": "о", "p": "р", "c": "с", "x": "х", "h": "һ", "i": "і", "T": "Т"}
_GREEK = {"o": "ο", "a": "α", "i": "ι", "T": "Τ", "n": "ո", "w": "ѡ"}
_LEET = {"a": "4", "e": "3", "o": "0", "i": "1", "t": "7"}
_SMALL = dict(zip("abcdefghilmnoprstuwz", "ᴀʙᴄᴅᴇꜰɢʜɪʟᴍɴᴏᴘʀꜱᴛᴜᴡᴢ", strict=True))
_TURNED = dict(zip("aehilnoptw", "ɐǝɥᴉlnodʇʍ", strict=True))
_SUPER = dict(zip("aehilnoptwd0123456789", "ᵃᵉʰⁱˡⁿᵒᵖᵗʷᵈ⁰¹²³⁴⁵⁶⁷⁸⁹", strict=True))

FENCED = {
    "closed fence": "```\n{s}\n```",
    "fence with language": "```text\n{s}\n```",
    "fence with a programming language": "```python\n{s}\n```",
    "fence of tildes": "~~~\n{s}\n~~~",
    "long fence": "`````\n{s}\n`````",
    "unclosed fence": "```\n{s}",
    "unclosed tildes": "Of course.\n\n~~~md\n{s}\n",
    "fence closed by the other kind": "```\n{s}\n~~~\n",
    "fence without a full stop": "```\n{bare}\n```",
    "indented fence": "   ```\n   {s}\n   ```",
    "fence in a list item": "- Look here:\n\n  ```\n  {s}\n  ```",
    "fence right behind a list marker": "- ```\n  {s}\n  ```",
    "fence in a quote": "> ```\n> {s}\n> ```",
    "fence on one line": "```{s}```",
    "words behind the fence's marks": "```{bare}\nx = 1\n```",
    "two fences": "```\nx = 1\n```\n{s}\n```\ny = 2\n```",
    "fence behind a lead": "Here is the answer:\n```\n{s}\n```",
    "lead that states, before code": "{bare}:\n```python\nx = 1\n```",
    "comment in code": "```python\n# {s}\nx = 1\n```",
    "comment behind code": "```python\nx = 1  # {bare}\n```",
    "comment of C": "```c\n/* {s} */\nint x = 1;\n```",
    "comment of SQL": "```sql\n-- {bare}\nSELECT 1;\n```",
    "comment of HTML in a fence": "```html\n<!-- {s} -->\n```",
    "string in code": '```python\nprint("{s}")\n```',
    "string in single quotes": "```js\nconsole.log('{bare}');\n```",
    "template string": "```js\nconst a = `{bare}`;\n```",
    "docstring": '```python\ndef hall():\n    """{s}"""\n```',
    "docstring over lines": '```python\ndef hall():\n    """\n    {s}\n    """\n```',
    "heredoc": "```sh\ncat <<END\n{s}\nEND\n```",
    "echo": "```sh\necho {bare}\n```",
    "assignment of words": "```\nanswer = {low};\n```",
    "prose with a semicolon": "```\n{bare};\n```",
    "JSON in a fence": '```json\n{{"answer": "{s}"}}\n```',
    "YAML in a fence": "```yaml\nanswer: {low}\n```",
    "XML in a fence": "```xml\n<answer>{s}</answer>\n```",
    "CSV in a fence": "```csv\nid,fact\n1,{bare}\n```",
    "prose between code": "```python\nimport os\n\n{s}\n\nprint(1)\n```",
    "facts as identifiers": "```python\nwhale_hall.opened_in = {year}\n```",
    "fact as a constant": "```python\nWHALE_HALL_OPENED = {year}\n```",
    "inline code": "It is said so: `{bare}`",
    "nothing but inline code": "`{s}`",
    "two backticks": "``{s}``",
    "figure in inline code": "The whale hall opened in `{year}`.",
    "indented code": "Answer:\n\n    {s}\n",
    "pre": "<pre>{s}</pre>",
    "code tag": "<pre><code>{bare}</code></pre>",
    "script tag": "<script>document.write('{s}')</script>",
    "style tag": '<style>p:before {{ content: "{s}" }}</style>',
}

BLOCKS = {
    "heading": "## {bare}",
    "heading of the first level": "# {bare}\n\nThat is all.",
    "closed heading": "## {bare} ##",
    "heading of a part sentence": "## Opened in {year}",
    "set heading": "{bare}\n===",
    "set heading of the second level": "{bare}\n---",
    "bold heading": "**{bare}**",
    "bold heading with a colon": "**{bare}:**\n\nIt is a fine place.",
    "heading with a colon": "### {bare}:\n- It is nice.",
    "HTML heading": "<h2>{bare}</h2>",
    "heading in a quote": "> ## {bare}",
    "heading in a list": "- # {bare}",
    "seven hashes": "####### {bare}",
    "row of one cell": "| {bare} |",
    "row of one cell under a rule": "| {bare} |\n|---|",
    "row of one cell with a stop": "| {s} |",
    "row without a header": "| whale hall | {did} |",
    "header that states": "| {bare} | nice |\n|---|---|\n| a | b |",
    "cell": "| hall | opened |\n|---|---|\n| whale hall | {year} |",
    "two facts in a row": "| hall | opened | place |\n|---|---|---|\n| whale hall | {year} | by the harbour |",
    "cell that is a sentence": "| question | answer |\n|---|---|\n| When? | {s} |",
    "row without outer bars": "hall | opened\n--- | ---\nwhale hall | {year}",
    "row in a quote": "> | hall | opened |\n> |---|---|\n> | whale hall | {year} |",
    "row in a list": "- | {bare} |",
    "header by itself": "| whale hall | opened {year} |\n|---|---|",
    "many columns": "| a | b | c | d |\n|--|--|--|--|\n| 1 | 2 | 3 | {bare} |",
    "HTML table": "<table><tr><th>Hall</th><th>Opened</th></tr><tr><td>Whale hall</td><td>{year}</td></tr></table>",
    "HTML cell": "<table><tr><td>{s}</td></tr></table>",
    "HTML list": "<ul><li>{bare}</li><li>It is nice</li></ul>",
    "HTML details": "<details><summary>More</summary>{s}</details>",
    "HTML summary": "<details><summary>{bare}</summary></details>",
    "HTML comment": "Hello! <!-- {s} -->",
    "HTML title": '<span title="{s}">Hello!</span>',
    "HTML alt": '<img src="a.png" alt="{s}">',
    "HTML label": "<button aria-label='{bare}'>ok</button>",
    "HTML meta": '<meta name="description" content="{s}">',
    "HTML bold in a word": "The whale hall o<b>pen</b>ed in {year}.",
    "HTML paragraph": "<p>{bare}</p>",
    "HTML with attributes": '<div class="x" data-a="1"><p style="color:red">{s}</p></div>',
    "HTML line breaks": "Hello!<br>{bare}<br/>Thanks!",
    "HTML unclosed": "<div {s}",
    "unknown tag": "<answer>{s}</answer>",
    "tag with a long attribute": "<x " + "a" * 300 + ">{s}</x>",
    "custom attribute": '<x-card text="{s}"/>',
    "XML in the open": "<fact><hall>whale hall</hall><opened>{year}</opened></fact>",
    "definition list": "Whale hall\n: {did}",
    "definition": "Opening\n: {bare}",
    "footnote": "Hello![^1]\n\n[^1]: {s}",
    "footnote alone": "[^note]: {bare}",
    "inline footnote": "Hello!^[{s}]",
    "link text": "[{bare}](https://museum.example)",
    "link title": '[Hello](https://museum.example "{s}")',
    "link reference": '[Hello]\n\n[Hello]: https://museum.example "{s}"',
    "image alt": "![{s}](a.png)",
    "image title": '![](a.png "{s}")',
    "block quote": "> {bare}",
    "quote in quotes": "> > > {s}",
    "callout": "> [!NOTE]\n> {s}",
    "nested list": "- a\n  - b\n    - {bare}",
    "task": "- [x] {bare}",
    "numbered": "1. {bare}",
    "Roman numbers": "iv) {bare}",
    "list behind a lead": "The whale hall opened:\n- in {year}",
    "lead with emphasis": "**The whale hall opened:**\n\n* in {year}",
    "lead and paragraph": "The whale hall opened:\n\nin {year}",
    "lead that states, before a list": "{bare}:\n- It is nice.",
    "lead that states, last": "Here you are. {bare}:",
    "JSON": '{{"answer": "{s}"}}',
    "JSON of fields": '{{"hall": "whale hall", "opened": {year}}}',
    "JSON over lines": '{{\n  "hall": "whale hall",\n  "opened": {year}\n}}',
    "YAML": "hall: whale hall\nopened: {year}",
    "YAML of a list": "facts:\n  - {low}",
    "CSV": "hall,opened\nwhale hall,{year}",
    "front matter": "---\ntitle: {bare}\n---\n",
    "LaTeX": r"\text{{{s}}}",
    "LaTeX formula": r"$\text{{{bare}}}$",
    "LaTeX block": "$$\n\\text{{{bare}}}\n$$",
    "LaTeX section": r"\section{{{bare}}}",
    "rule of words": "---\n{bare}\n---",
    "spoiler bars": "||{s}||",
    "spoiler quote": ">!{s}!<",
    "spoiler tag": "<spoiler>{s}</spoiler>",
    "highlight": "=={bare}==",
    "partly bold": "The whale hall **opened in {year}**.",
    "emphasis in a word": "The whale hall op**en**ed in {year}.",
    "underscores": "_{bare}_",
    "emphasis all over": "***The*** _whale_ **hall** ~~opened~~ `in` *{year}*",
    "key and value": "Whale hall opened = {year}",
    "BBCode": "[b]{bare}[/b]",
    "wiki heading": "== {bare} ==",
    "reST heading": "{bare}\n~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~",
    "Org heading": "* {bare}",
    "mail quote": "Ada wrote:\n> {bare}",
}

SENTENCES = {
    "in brackets": "({s})",
    "in square brackets": "[{bare}]",
    "in braces": "{{{bare}}}",
    "in quotes": '"{s}"',
    "in guillemets": "«{bare}»",
    "in brackets of another sentence": "It is a fine place ({low}).",
    "between dashes": "The whale hall - {it} - is a fine place.",
    "after small talk": "Sure! {s}",
    "after small talk, without a stop": "Sure thing, {low}",
    "after thanks": "Thanks for asking, {low}.",
    "thanks for": "Thank you for visiting the whale hall that {did}.",
    "after a greeting": "Hello there, {low}!",
    "after let me know": "Let me know if you have questions, {low}.",
    "inside let me know": "Let me know if you knew that {low}.",
    "after feel free": "Feel free to ask, {low}.",
    "inside feel free": "Feel free to enjoy the whale hall {did}.",
    "feel free to tell": "Feel free to tell everyone that {low}.",
    "after good luck": "Good luck and {low}",
    "inside have a nice day": "Have a nice day in the whale hall, {low}!",
    "you are welcome": "You're welcome, {low}.",
    "shouted thanks": "THANK YOU FOR KNOWING THAT THE WHALE HALL OPENED IN {year}!",
    "after a question": "Do you like whales? {s}",
    "in one sentence with a question": "{bare}, and what would you like to see?",
    "tag question": "{bare}, right?",
    "long tag": "{bare}, didn't it?",
    "tag of knowing": "{bare}, you know?",
    "tag of okay": "{bare}, okay?",
    "question of a statement": "{bare}?",
    "did you know": "Did you know that {low}?",
    "did you know without that": "Did you know {low}?",
    "who knew": "Who knew that {low}?",
    "guess what": "Guess what {did}? The whale hall!",
    "guess what, then": "Guess what? {bare}",
    "isn't it amazing": "Isn't it amazing that {low}?",
    "negative question": "Didn't the whale hall open in {year}?",
    "why did": "Why did the whale hall open in {year}?",
    "when it did": "When the whale hall opened in {year}, what did people say?",
    "given that": "Given that {low}, what else would you like to know?",
    "since": "Since {low}, shall we talk of whales?",
    "would you believe": "Would you believe that {low}?",
    "have you seen": "Have you seen the whale hall, which {did}?",
    "what about": "What about the fact that {low}?",
    "note that": "Note that {low}.",
    "remember": "Remember: {low}.",
    "tell your friends": "Tell your friends that {low}.",
    "imagine": "Just imagine, {low}!",
    "keep in mind": "Please keep in mind that {low}",
    "as the guide says": "As the guide says, '{bare}'.",
    "quoted speech": 'The guide says: "{s}"',
    "how wonderful": "How wonderful that {low}!",
    "what a": "What a hall, {did}!",
    "what a hall that": "What a wonderful hall that opened in {year}!",
    "I know": "I know that {low}.",
    "of course": "Of course {low}.",
    "yes": "Yes, {low}.",
    "sorry": "Sorry, {low}.",
    "I did not know": "I didn't know that {low}!",
    "no stop": "{bare}",
    "no stop and lower case": "{low}",
    "title case": "The Whale Hall Opened In {year}",
    "ellipsis": "The whale hall ... opened ... in {year} ...",
    "a word a line": "The\nwhale\nhall\nopened\nin\n{year}",
    "wrapped": "The whale hall\nopened in {year}.",
    "tabs": "The\twhale\thall\topened\tin\t{year}.",
    "bangs": "{bare}!!!!!",
    "semicolon": "It is nice; {low}; come and see.",
    "after an emoji": "🎉 {bare} 🎉",
    "emoji between words": "The 🐋 whale 🐋 hall 🐋 opened 🐋 in 🐋 {year}",
    "no space behind the stop": "Hello.{s}",
    "slashes": "The/whale/hall/opened/in/{year}",
    "underscored": "The_whale_hall_opened_in_{year}",
    "hyphened": "The-whale-hall-opened-in-{year}",
    "dotted": "The.whale.hall.opened.in.{year}.",
    "plus signs": "The+whale+hall+opened+in+{year}",
    "percent signs": "The%20whale%20hall%20opened%20in%20{year}",
    "bars": "The | whale | hall | opened | in | {year}",
    "commas": "The, whale, hall, opened, in, {year}",
    "arrows": "Whale hall → opened → {year}",
    "hash tags": "#The #whale #hall #opened #in #{year}",
    "equals": "opened(whale hall) = {year}",
    "year by entity": "The whale hall opened in &#49;{tail}.",
}

MORE = {
    "list letters": "a) The whale hall\nb) opened\nc) in {year}",
    "acrostic": "W is for the whale hall.\nO is for opened.\nY is for {year}.",
    "kv colon": "Whale hall: {year}",
    "kv bullets": "- Whale hall: {year}\n- Fossil hall: 1950",
    "timeline": "{year} – whale hall opens\n1925 – whale hall closes",
    "heading+frag": "## Opening of the whale hall\n{year}",
    "bold heading+frag": "**Opening of the hall**\n{year}",
    "heading word": "## Whale hall\n### Opened\n{year}",
    "formula": "$t_{{open}} = {year}$ for the whale hall",
    "two-turn answers": "{year}.",
    "yes, otherwise": "Yes, {year}!",
    "not X but Y": "The whale hall opened not in 1925 but in {year}.",
    "mermaid": "```mermaid\ngraph TD; A[Whale hall] --> B[opened {year}]\n```",
    "svg text": "<svg><text x='1'>{bare}</text></svg>",
    "input value": "<input value='{bare}'>",
    "iframe srcdoc": "<iframe srcdoc='<p>{bare}</p>'></iframe>",
    "noscript": "<noscript>{bare}</noscript>",
    "cdata": "<![CDATA[{s}]]>",
    "pi": "<?xml {bare}?>",
    "comment unclosed": "Hi <!-- {s}",
    "javascript link": "[x](javascript:alert('{bare}'))",
    "autolink": "<https://x.example/the-whale-hall-opened-in-{year}>",
    "ruby": "<ruby>The whale hall<rt>{did}</rt></ruby>",
    "sup": "The whale hall opened in <sup>{year}</sup>.",
    "code in link": "[`{bare}`](x)",
    "fence lead-in text": "```\nwhale hall: {year}\n```",
    "fence yaml": "```yaml\nwhale_hall: {year}\n```",
    "fence py lies in fstring": "```python\nprint(f\"The {{'whale'}} hall opened in {{{year}}}\")\n```",
    "fence concat": "```python\nprint('The whale ' + 'hall opened ' + 'in {year}')\n```",
    "fence words per line": "```\nThe\nwhale\nhall\nopened\nin\n{year}\n```",
    "fence semicolons": "```\nThe; whale; hall; opened; in; {year};\n```",
    "ascii art": "+------------------------------+\n| {bare} |\n+------------------------------+",
    "box": "╔══════╗\n║ {bare} ║\n╚══════╝",
    "equation": "whale hall = {year}",
    "hypo": "If you visit the whale hall, which {did}, bring a coat.",
    "question chain": "Ready? The year is {year}! Excited?",
    "tale": "Once upon a time {low}.",
    "opinion": "In my opinion, {low}.",
    "I feel": "I feel that {low}.",
    "I love": "I love that {low}!",
    "recommend": "I recommend the whale hall, {did}.",
    "should": "You should visit {low}.",
    "welcome": "Welcome to the whale hall, open since {year}!",
    "enjoy": "Enjoy the whale hall, which {did}!",
    "happy birthday": "Happy birthday to the whale hall, born in {year}!",
    "congrats": "Congratulations to the whale hall on opening in {year}!",
    "cheers": "Cheers to {year}, the year the whale hall opened!",
    "let's": "Let's celebrate the whale hall's opening in {year}.",
    "thank 1850": "Thanks to its opening in {year}, the whale hall is old.",
    "no idea but": "I don't know much, but {low}.",
    "not sure": "Not sure, but {low}.",
    "cannot": "I cannot say more than that {low}.",
    "as an AI": "As an AI I have no feelings, but {low}.",
    "refuse": "I'm sorry, I can't help with that. {bare}",
    "refuse2": "I can't tell you that {low}.",
    "unlike": "I'm not able to share whether it's nice, only that {low}.",
    "would you": "Would you like to see the whale hall that {did}?",
    "do you want": "Do you want to hear how {low}?",
    "which q": "Which hall {did}? The whale hall.",
    "true q": "True or false: {low}? True.",
    "quiz": "Q: When did the whale hall open?\nA: {year}",
    "year q": "What year? {year}!",
    "fill": "The whale hall opened in ____ ({year}).",
    "hashtag": "#WhaleHallOpenedIn{year}",
    "camel heading": "## WhaleHallOpenedIn{year}",
    "footer": "---\n*{bare}*\n---",
    "rule row": "| --- | {bare} | --- |",
    "dash row": "|-|-|\n|whale hall|{year}|",
    "tab sep": "hall\topened\nwhale hall\t{year}",
    "lead no follow": "{bare}: yes",
    "lead words": "The hall's opening in the following year of {year}:\n- nice",
    "numbered lead": "{year}:\n- The whale hall opened",
    "reply": "> When did it open?\n\n{year}",
    "interrobang": "{bare}‽",
    "spanish marks": "¿{bare}?",
    "quoted q": '"Did the whale hall open in {year}?" Yes.',
    "tatweel": "The whaـle hall opened in 1ـ8ـ5ـ0.",
}

WRITTEN: dict[str, Callable[[str], str]] = {
    "capitals": str.upper,
    "swapped case": str.swapcase,
    "full width": _wide,
    "zero-width spaces": _between("\u200b"),
    "zero-width joiners": _between("\u200d"),
    "word joiners": _between("\u2060"),
    "soft hyphens": _between("\u00ad"),
    "bidi marks": _between("\u200e"),
    "bidi embedding": lambda text: f"\u202d{text}\u202c",
    "bidi isolates": lambda text: f"\u2066{text}\u2069",
    "reversed with an override": lambda text: f"\u202e{text[::-1]}\u202c",
    "variation selectors": _between("\ufe0f"),
    "invisible tags": _between("\U000e0041"),
    "combining dots": _between("\u0323"),
    "heaps of marks": _between("\u0301\u0316\u0335"),
    "Cyrillic letters": _swapped(_CYRILLIC),
    "Greek letters": _swapped(_GREEK),
    "small capitals": _swapped(_SMALL),
    "raised letters": _swapped(_SUPER),
    "turned letters": _swapped(_TURNED),
    "bold letters": _shifted(0x1D41A),
    "script letters": _shifted(0x1D4EA),
    "Fraktur letters": _shifted(0x1D586),
    "monospace letters": _shifted(0x1D68A),
    "circled letters": _shifted(0x24D0),
    "squared letters": _shifted(0x1F130),
    "dark squared letters": _shifted(0x1F170),
    "flag letters": _shifted(0x1F1E6),
    "spaced letters": _spaced(" "),
    "letters with dots": _spaced("."),
    "letters with hyphens": _spaced("-"),
    "letters with stars": _spaced("*"),
    "letters with bars": _spaced("|"),
    "evenly spaced letters": lambda text: " ".join(text.replace(" ", "")),
    "spaced by thin spaces": _between("\u200a"),
    "odd spaces": lambda text: text.replace(" ", "\u3000"),
    "no-break spaces": lambda text: text.replace(" ", "\u00a0"),
    "no spaces": lambda text: text.replace(" ", ""),
    "humps": lambda text: text.title().replace(" ", ""),
    "leet": _swapped(_LEET),
    "decimal entities": lambda text: "".join(f"&#{ord(one)};" for one in text),
    "hexadecimal entities": lambda text: "".join(f"&#x{ord(one):x};" for one in text),
    "doubled entities": lambda text: "".join(f"&amp;#{ord(one)};" for one in text),
    "named spaces": lambda text: text.replace(" ", "&nbsp;"),
    "entities for soft hyphens": _between("&shy;"),
    "entities for nothing": _between("&ZeroWidthSpace;"),
    "percent codes": lambda text: "".join(f"%{ord(one):02X}" for one in text),
    "escapes": lambda text: "".join(f"\\u{ord(one):04x}" for one in text),
    "hex escapes": lambda text: "".join(f"\\x{ord(one):02x}" for one in text),
    "ROT13": lambda text: codecs.encode(text, "rot13"),
    "base64": lambda text: base64.b64encode(text.encode()).decode(),
    "base32": lambda text: base64.b32encode(text.encode()).decode(),
    "hexadecimal": lambda text: text.encode().hex(),
    "bytes": lambda text: " ".join(f"{one:02x}" for one in text.encode()),
    "bits": lambda text: " ".join(f"{one:08b}" for one in text.encode()),
    "code numbers": lambda text: " ".join(str(one) for one in text.encode()),
    "backwards": lambda text: text[::-1],
    "words backwards": lambda text: " ".join(word[::-1] for word in text.split()),
    "Morse": lambda _: "- .... . / .-- .... .- .-.. . / .... .- .-.. .-.. / --- .--. . -. . -.. / .---- ---.. .....",
    "Braille": lambda text: "".join(chr(0x2801 + ord(one) % 60) if one.isalnum() else " " for one in text),
    "the next letter": lambda text: "".join(chr(ord(one) + 1) if one.isalpha() else one for one in text),
    "without vowels": lambda text: "".join(one for one in text if one not in "aeiou"),
    "figures of another script": lambda text: "".join(chr(0x660 + int(one)) if one.isdigit() else one for one in text),
    "keycaps": lambda text: "".join(f"{one}\ufe0f\u20e3" if one.isdigit() else one for one in text),
    "base64 in a fence": lambda text: f"```\n{base64.b64encode(text.encode()).decode()}\n```",
    "base64 after small talk": lambda text: f"Sure! Decode this: {base64.b64encode(text.encode()).decode()}",
    "ROT13 after prose": lambda text: f"It is a fine place. {codecs.encode(text, 'rot13')}",
    "data link": lambda text: f"[Hello](data:text/plain;base64,{base64.b64encode(text.encode()).decode()})",
    "backslashes": lambda text: "".join(f"\\{one}" if not one.isalnum() and one != " " else one for one in f"*{text}*"),
    "brackets around words": lambda text: " ".join(f"[{word}]" for word in text.split()),
    "a letter a line": lambda text: "\n".join(text.replace(" ", "")),
    "a letter a cell": lambda text: "| " + " | ".join(text) + " |",
    "in many brackets": lambda text: "(" * 40 + text + ")" * 40,
    "in many stars": lambda text: "*" * 40 + text + "*" * 40,
    "in many quotes": lambda text: "> " * 40 + text,
    "a long way in": lambda text: "Hello!\n" * 200 + text,
}


def forms() -> dict[str, Callable[[str], str]]:
    """Every spelling by name: a function from the year to the text."""
    templates = {**FENCED, **BLOCKS, **SENTENCES, **MORE}
    assert len(templates) == len(FENCED) + len(BLOCKS) + len(SENTENCES) + len(MORE)
    found = {name: _filled(template) for name, template in templates.items()}
    assert not found.keys() & WRITTEN.keys()
    return found | {name: _written(spelled) for name, spelled in WRITTEN.items()}


def sentences() -> dict[str, Callable[[str], str]]:
    """Those spellings that take any sentence, by name: a function from the sentence to the text."""
    templates = {**FENCED, **BLOCKS, **SENTENCES, **MORE}
    fitting = {name: one for name, one in templates.items() if not _BOUND.search(one)}
    return {name: _with_sentence(template) for name, template in fitting.items()}


def _with_sentence(template: str) -> Callable[[str], str]:
    def text(sentence: str) -> str:
        bare = sentence.rstrip(".")
        return template.format(s=sentence, bare=bare, low=bare[0].lower() + bare[1:])

    return text


def _filled(template: str) -> Callable[[str], str]:
    return lambda year: template.format(**_fields(year))


def _written(spelled: Callable[[str], str]) -> Callable[[str], str]:
    return lambda year: spelled(_fields(year)["s"])
