"""MkDocs hook: files outside `docs/` that a page links to become pages of the site.

In the repository such links work as they are. Here every linked file gets a page below `project/`: Markdown as it is, anything
else in a code block. No page may load anything from another host.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
ALWAYS = ("CONTRIBUTING.md", "CHANGELOG.md")
LANGUAGES = {".ipynb": "json", ".mjs": "javascript", ".py": "python", ".ts": "typescript", ".yaml": "yaml"}
_LINK = re.compile(r"(?<=\]\()(?!https?:|#|mailto:)([^)#\s]+)")
_REMOTE = re.compile(r"<(?:script|img|iframe|link rel=\"stylesheet\")[^>]*(?:src|href)=\"(?:https?:)?//[^\"]*\"")


def on_files(files: Any, config: Any) -> Any:
    """Adds every file outside `docs/` that can be reached by links."""
    from mkdocs.structure.files import File

    waiting = [*DOCS.rglob("*.md"), *(ROOT / name for name in ALWAYS)]
    known = set(waiting)
    while waiting:
        path = waiting.pop()
        if not path.is_relative_to(DOCS):
            files.append(File.generated(config, _uri(path), content=_content(path)))
        new = {target for target in _targets(path) if target.is_file() and not target.is_relative_to(DOCS)} - known
        known |= new
        waiting += new
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Points links to their targets' places on the site."""
    source = _source(page.file.src_uri)

    def retarget(link: re.Match[str]) -> str:
        target = (source.parent / link[0]).resolve()
        return posixpath.relpath(_uri(target), posixpath.dirname(page.file.src_uri)) if target.is_file() else link[0]

    return _LINK.sub(retarget, markdown)


def on_post_page(output: str, page: Any, **_: Any) -> str:
    """The page as it is.

    Raises:
        ValueError: it loads something from another host, which a reader without a network would miss.
    """
    remote = _REMOTE.search(output)
    if remote:
        raise ValueError(f"{page.file.src_uri} loads from another host: {remote[0]}; keep a copy below docs/")
    return output


def _targets(path: Path) -> Iterator[Path]:
    if path.suffix == ".md":
        for link in _LINK.findall(path.read_text("utf-8")):
            yield (path.parent / link).resolve()


def _content(path: Path) -> str:
    text = path.read_text("utf-8")
    return text if path.suffix == ".md" else f"# {path.name}\n\n```{LANGUAGES.get(path.suffix, 'text')}\n{text}```\n"


def _uri(path: Path) -> str:
    """The site's path of a file of the repository."""
    if path.is_relative_to(DOCS):
        return path.relative_to(DOCS).as_posix()
    name = path.relative_to(ROOT).as_posix()
    return f"project/{name}" if path.suffix == ".md" else f"project/{name}.md"


def _source(uri: str) -> Path:
    """The repository's file behind a page."""
    if not uri.startswith("project/"):
        return DOCS / uri
    path = ROOT / uri.removeprefix("project/")
    return path if path.exists() else path.with_suffix("")
