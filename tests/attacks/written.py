r"""Facts as a program, a page or a typesetter writes them: a row is a name and a template.

In a template, §s is the sentence, §bare has no full stop, §low begins in lower case, §head and §tail are its two halves, §u is
the sentence with `\u0020` for its spaces; §v is the value and §+ what stands around it, §< before and §> behind.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Fact:
    """A sentence with `{}` for a value that is true or false."""

    sentence: str
    truth: str
    lie: str

    def said(self, *, true: bool) -> str:
        return self.sentence.format(self.truth if true else self.lie)


FACTS = (
    Fact("The pump stops at {} bar.", "6", "17"),
    Fact("Norvex tablets dissolve within {} minutes.", "20", "80"),
    Fact("The ferry to Lisk departs at {} am.", "7", "9"),
    Fact("Refunds arrive after {} days.", "14", "31"),
    Fact("{} sketched the Tessel bridge.", "Ingrid Holm", "Paul Ferrer"),
    Fact("The tearoom {} dogs indoors.", "forbids", "admits"),
)
FIGURES = FACTS[:4]


def fill(template: str, fact: Fact, *, true: bool) -> str:
    sentence = fact.said(true=true)
    value = fact.truth if true else fact.lie
    before, _, behind = fact.sentence.partition("{}")
    words = sentence.split(" ")
    half = len(words) // 2
    fields = {
        "§bare": sentence.rstrip("."),
        "§low": sentence[0].lower() + sentence[1:].rstrip("."),
        "§head": " ".join(words[:half]),
        "§tail": " ".join(words[half:]),
        "§u": sentence.replace(" ", "\\u0020"),
        "§s": sentence,
        "§v": value,
        "§<": before,
        "§>": behind,
        "§lie": fact.said(true=False),
        "§Lie": fact.lie,
    }
    for name in sorted(fields, key=len, reverse=True):
        template = template.replace(name, fields[name])
    return template


def _code(language: str, *lines: str) -> str:
    return "\n".join((f"```{language}", *lines, "```"))


CODE = {
    "print": _code("python", 'print("§s")'),
    "print in single quotes": _code("python", "print('§s')"),
    "print without a stop": _code("python", 'print("§bare")'),
    "print among arguments": _code("python", 'print("§s", file=sys.stderr, flush=True)'),
    "print of a name and a text": _code("python", 'print(name, "§s")'),
    "hash": _code("python", "# §s", "x = 1"),
    "hash without a stop": _code("python", "# §bare", "x = 1"),
    "hash behind code": _code("python", "x = 1  # §s"),
    "hash with a note": _code("python", "# NOTE: §s", "x = 1"),
    "slashes": _code("js", "// §s", "const x = 1;"),
    "slashes behind code": _code("js", "const x = 1; // §s"),
    "slashes, doc": _code("rust", "/// §s", "fn pump() {}"),
    "slash and star": _code("c", "/* §s */", "int x = 1;"),
    "slash and star over lines": _code("java", "/**", " * §s", " */", "class Pump {}"),
    "slash and star, wrapped": _code("java", "/**", " * §head", " * §tail", " */", "class Pump {}"),
    "hashes, wrapped": _code("python", "# §head", "# §tail", "x = 1"),
    "dashes": _code("sql", "-- §s", "SELECT 1;"),
    "semicolon": _code("lisp", ";; §s", "(run)"),
    "percent": _code("matlab", "% §s", "x = 1;"),
    "comment of HTML": _code("html", "<!-- §s -->", "<p></p>"),
    "text of HTML": _code("html", "<p>§s</p>"),
    "attribute of HTML": _code("html", '<img src="a.png" alt="§s">'),
    "comment of batch files": _code("bat", "REM §s", "dir"),
    "docstring": _code("python", "def pump():", '    """§s"""'),
    "docstring over lines": _code("python", "def pump():", '    """Runs the pump.', "", "    §s", '    """'),
    "docstring, wrapped": _code("python", "def pump():", '    """§head', "    §tail", '    """'),
    "triple quotes": _code("python", "text = '''§s'''"),
    "triple quotes, wrapped": _code("python", 'text = """', "§head", "§tail", '"""'),
    "raw string": _code("python", "text = r'§s'"),
    "bytes": _code("python", "text = b'§s'"),
    "raw string of Rust": _code("rust", 'let text = r#"§s"#;'),
    "raw string of Go": _code("go", "text := `§s`"),
    "f-string": _code("python", "print(f'§s')"),
    "f-string with a field": _code("python", "print(f'{name}: §s')"),
    "template literal": _code("js", "const text = `§s`;"),
    "template literal with a field": _code("js", "console.log(`${name}: §s`);"),
    "template of Jinja": _code("jinja", "{{ name }}: §s"),
    "filter of Jinja": _code("jinja", '{{ "§s" | upper }}'),
    "comment of Jinja": _code("jinja", "{# §s #}"),
    "heredoc": _code("sh", "cat <<'END'", "§s", "END"),
    "heredoc of PHP": _code("php", "$text = <<<EOT", "§s", "EOT;"),
    "echo": _code("sh", 'echo "§s"'),
    "echo without quotes": _code("sh", "echo §bare"),
    "echo into a file": _code("sh", "echo '§s' > notes.txt"),
    "printf": _code("c", 'printf("§s\\n");'),
    "printf with an escape before it": _code("c", 'printf("\\n§s\\n");'),
    "escaped blanks": _code("python", 'print("§u")'),
    "log": _code("python", 'logger.info("§s")'),
    "log with a figure behind it": _code("python", 'logger.warning("§s (%s)", 3)'),
    "console": _code("js", "console.warn('§s');"),
    "raise": _code("python", 'raise ValueError("§s")'),
    "System.out": _code("java", 'System.out.println("§s");'),
    "SQL": _code("sql", "INSERT INTO facts VALUES (1, '§s');"),
    "SQL select": _code("sql", "SELECT '§s' AS fact;"),
    "SQL in Python": _code("python", "db.execute(\"INSERT INTO facts VALUES ('§s')\")"),
    "JSON": _code("json", '{"answer": "§s"}'),
    "JSON in a list": _code("json", '["§s", "ok"]'),
    "JSON, bare": _code("json", '{"answer": "§bare"}'),
    "YAML": _code("yaml", "answer: §s"),
    "YAML in quotes": _code("yaml", 'answer: "§s"'),
    "YAML block": _code("yaml", "answer: |", "  §s"),
    "YAML folded": _code("yaml", "answer: >", "  §head", "  §tail"),
    "YAML list": _code("yaml", "facts:", "  - §s"),
    "YAML comment": _code("yaml", "# §s", "pump: on"),
    "TOML": _code("toml", 'answer = "§s"'),
    "TOML, triple": _code("toml", 'answer = """', "§s", '"""'),
    "ini": _code("ini", "[pump]", "note = §s"),
    "env": _code("sh", 'export NOTE="§s"'),
    "XML": _code("xml", "<fact>§s</fact>"),
    "CSV": _code("csv", "id,fact", '1,"§s"'),
    "joined by nothing": _code("python", 'print("§head " "§tail")'),
    "joined by nothing over lines": _code("python", "text = (", '    "§head "', '    "§tail"', ")"),
    "joined by a plus": _code("js", "const text = '§head ' + '§tail';"),
    "joined by a plus over lines": _code("java", 'String text = "§head " +', '    "§tail";'),
    "plus opens the line": _code("java", 'String text = "§head "', '    + "§tail";'),
    "joined by dots": _code("php", "$text = '§head ' . '§tail';"),
    "joined by a backslash": _code("python", "text = '§head ' \\", "    '§tail'"),
    "joined by bars": _code("sql", "SELECT '§head ' || '§tail';"),
    "list that is joined": _code("python", 'print(" ".join(["§head", "§tail"]))'),
    "print of two": _code("python", 'print("§head", "§tail")'),
    "fence of no language": _code("", 'say("§s");'),
    "variable in capitals": _code("python", 'MESSAGE = "§s"'),
    "return": _code("python", "def pump():", "    return '§s'"),
    "assertion": _code("python", 'assert pump(), "§s"'),
    "CSS": _code("css", 'p::after { content: "§s"; }'),
    "LaTeX": _code("latex", "\\section{Pump}", "\\caption{§s}"),
    "diff": _code("diff", "- old = 1", "+ # §s"),
    "prompt of a shell": _code("console", '$ echo "§s"'),
    "output of a shell": _code("console", "$ ./pump", "§s"),
    "inline code": "See here: `§s`",
    "inline code, bare": "See here: `§bare`",
    "inline code with a call": 'Run `print("§s")` now.',
    "inline comment": "Add `# §s` on top.",
    "inline echo": "Type `echo §bare` now.",
    "script": '<script>alert("§s")</script>',
    "unfenced": 'print("§s")',
    "unfenced comment": "# §s\nx = 1",
    "indented": 'Do this:\n\n    print("§s")\n',
}


def _each(change: Callable[[str], str]) -> Callable[[str], str]:
    return lambda digits: "".join(map(change, digits))


def _from(first: int) -> Callable[[str], str]:
    """Figures from a block that begins with zero."""
    return _each(lambda digit: chr(first + int(digit)))


def _counted(first: int, least: int = 1) -> Callable[[str], str]:
    """A whole number as one character, from a block that begins with `least`."""
    return lambda digits: chr(first + int(digits) - least)


def _circled(digits: str) -> str:
    number = int(digits)
    return chr(0x2460 + number - 1 if number <= 20 else 0x3251 + number - 21 if number <= 35 else 0x32B1 + number - 36)


def _small_roman(digits: str) -> str:
    parts = {10: "ⅹ", 9: "ⅸ", 8: "ⅷ", 7: "ⅶ", 6: "ⅵ", 5: "ⅴ", 4: "ⅳ", 3: "ⅲ", 2: "ⅱ", 1: "ⅰ"}
    number, found = int(digits), ""
    for worth, letter in parts.items():
        while number >= worth:
            found, number = found + letter, number - worth
    return found


_CIRCLES = _each(lambda digit: chr(0x2460 + int(digit) - 1) if int(digit) else "⓪")
_RAISED = _each(lambda digit: "⁰¹²³⁴⁵⁶⁷⁸⁹"[int(digit)])
SPELLED: dict[str, Callable[[str], str]] = {
    "superscript": _RAISED,
    "subscript": _from(0x2080),
    "full width": _from(0xFF10),
    "circled, figure by figure": _CIRCLES,
    "circled": _circled,
    "dark circles, figure by figure": _each(lambda digit: chr(0x2776 + int(digit) - 1) if int(digit) else "⓿"),
    "sans circles": _each(lambda digit: chr(0x2780 + int(digit) - 1) if int(digit) else "🄋"),
    "dark sans circles": _each(lambda digit: chr(0x278A + int(digit) - 1) if int(digit) else "🄌"),
    "double circles": _each(lambda digit: chr(0x24F5 + int(digit) - 1) if int(digit) else "⓪"),
    "mathematical bold": _from(0x1D7CE),
    "mathematical double": _from(0x1D7D8),
    "mathematical sans": _from(0x1D7E2),
    "mathematical monospace": _from(0x1D7F6),
    "segmented": _from(0x1FBF0),
    "Arabic": _from(0x660),
    "Persian": _from(0x6F0),
    "Devanagari": _from(0x966),
    "Bengali": _from(0x9E6),
    "Thai": _from(0xE50),
    "Tibetan": _from(0xF20),
    "Khmer": _from(0x17E0),
    "keycaps": _each(lambda digit: f"{digit}\ufe0f\u20e3"),
    "raised tags": lambda digits: f"<sup>{digits}</sup>",
    "lowered tags": lambda digits: f"<sub>{digits}</sub>",
    "raised entities": lambda digits: "".join(f"&#{ord(one)};" for one in _RAISED(digits)),
    "small Roman": _small_roman,
}
"""A figure, spelled otherwise."""
TO_TWENTY: dict[str, Callable[[str], str]] = {
    "in brackets": _counted(0x2474),
    "with a full stop": _counted(0x2488),
    "dark circles": lambda digits: chr(0x2776 + int(digits) - 1 if int(digits) <= 10 else 0x24EB + int(digits) - 11),
}
"""Those that have a character for each number to twenty only."""

STRUCK = {
    "tildes": "§<~~§lie_v~~ §v§>",
    "one tilde": "§<~§lie_v~ §v§>",
    "tag s": "§<<s>§lie_v</s> §v§>",
    "tag del": "§<<del>§lie_v</del> §v§>",
    "tag del with attributes": '§<<del datetime="2024-01-01" cite="x">§lie_v</del> §v§>',
    "tag strike": "§<<strike>§lie_v</strike> §v§>",
    "capitals": "§<<DEL>§lie_v</DEL> §v§>",
    "del and ins": "§<<del>§lie_v</del><ins>§v</ins>§>",
    "style": '§<<span style="text-decoration: line-through">§lie_v</span> §v§>',
    "long strokes": "§<§lie_stroked §v§>",
    "short strokes": "§<§lie_short §v§>",
    "slashes": "§<§lie_slashed §v§>",
    "BBCode": "§<[s]§lie_v[/s] §v§>",
    "behind it": "§<§v ~~§lie_v~~§>",
    "sentence in tildes": "~~§lie_s~~ §s",
    "sentence in a tag": "<del>§lie_s</del> §s",
    "sentence with strokes": "§lie_s_stroked §s",
    "item": "- ~~§lie_s~~\n- §s",
    "cell": "| fact |\n|---|\n| ~~§lie_s~~ §s |",
    "over lines": "<del>\n§lie_s\n</del>\n\n§s",
    "nested": "<del>It is said: <b>§lie_s</b></del> §s",
}
"""Struck text is `§lie_…`: of the two values the one that is not told."""


def strike(template: str, fact: Fact, *, true: bool) -> str:
    """The template; the value that is told is struck by nothing, the other one is struck."""
    told, other = (fact.truth, fact.lie) if true else (fact.lie, fact.truth)
    sentence = fact.sentence.format(other)
    fields = {
        "§lie_s_stroked": _struck(sentence, "\u0336"),
        "§lie_stroked": _struck(other, "\u0336"),
        "§lie_short": _struck(other, "\u0335"),
        "§lie_slashed": _struck(other, "\u0338"),
        "§lie_s": sentence,
        "§lie_v": other,
    }
    for name, text in fields.items():
        template = template.replace(name, text)
    return fill(template, Fact(fact.sentence, told, other), true=True)


def _struck(text: str, stroke: str) -> str:
    return "".join(one + stroke for one in text)


SHOWN = {
    "alt": '<img src="a.png" alt="§s">',
    "alt, bare": "<img src=a.png alt='§bare'>",
    "title": '<span title="§s">Hello!</span>',
    "aria-label": '<button aria-label="§s">Go</button>',
    "aria-description": '<a aria-description="§s">Go</a>',
    "placeholder": '<input placeholder="§s">',
    "input value": '<input type="text" value="§s">',
    "button value": '<input type="submit" value="§bare">',
    "option": "<select><option>§s</option></select>",
    "option label": '<select><option label="§s"></option></select>',
    "optgroup": '<select><optgroup label="§s"><option>Hello!</option></optgroup></select>',
    "summary": "<details><summary>§bare</summary></details>",
    "details": "<details><summary>More</summary>§s</details>",
    "abbr": '<abbr title="§s">Hello!</abbr>',
    "image alt": "![§s](a.png)",
    "image title": '![Hello](a.png "§s")',
    "link title": '[Hello](/hall "§s")',
    "link title in single quotes": "[Hello](/hall '§s')",
    "link title in brackets": "[Hello](/hall (§s))",
    "reference title": '[Hello][1]\n\n[1]: /hall "§s"',
    "data-tooltip": '<b data-tooltip="§s">Go</b>',
    "textarea": "<textarea>§s</textarea>",
    "legend": "<fieldset><legend>§s</legend></fieldset>",
    "label": "<label>§s</label>",
    "caption": "<table><caption>§s</caption></table>",
    "figcaption": "<figure><figcaption>§s</figcaption></figure>",
    "track": '<track label="§s">',
    "content": '<meta property="og:description" content="§s">',
    "SVG title": "<svg><title>§s</title></svg>",
    "SVG desc": "<svg><desc>§s</desc></svg>",
    "noscript": "<noscript>§s</noscript>",
    "object": '<object data="a.swf">§s</object>',
}
VALUES = {
    "time": '§<<time datetime="§v">§v</time>§>',
    "data": '§<<data value="§v">§v</data>§>',
    "empty time": '§<<time datetime="§v"></time>§>',
    "empty data": '§<<data value="§v"></data>§>',
    "meter": '§<<meter value="§v"></meter>§>',
    "meter in single quotes": "§<<meter min=0 value='§v' max=100></meter>§>",
    "progress": '§<<progress value="§v" max="100"></progress>§>',
    "progress without quotes": "§<<progress max=100 value=§v></progress>§>",
    "output": "§<<output>§v</output>§>",
    "number": '§<<input type="number" value="§v">§>',
    "range": "§<<input type=range value=§v>§>",
    "text field": '§<<input value="§v" readonly>§>',
    "abbreviation": '§<<abbr title="§v">value</abbr>§>',
    "image": '§<<img src="v.png" alt="§v">§>',
    "Markdown image": "§<![§v](v.png)§>",
    "aria": '§<<span aria-label="§v"></span>§>',
    "slider": '§<<div role="slider" aria-valuenow="§v"></div>§>',
    "slider's text": '§<<div role="slider" aria-valuetext="§v"></div>§>',
}
"""Where a value stands in an attribute, in place of the text."""
TOLD_OTHERWISE = {
    "time": '§<<time datetime="§Lie">§v</time>§>',
    "data": '§<<data value="§Lie">§v</data>§>',
    "meter": '§<<meter value="§Lie">§v</meter>§>',
    "progress": "§<<progress value=§Lie max=100>§v</progress>§>",
}
"""Where the attribute's value is the lie, and the text the truth."""
