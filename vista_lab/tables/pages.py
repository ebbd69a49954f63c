"""Pages of HTML from templates: texts are escaped, and the page's own policy runs no script and loads nothing.

Alone because pages of two tasks are made with it.
"""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from vista_guard._extras import require
from vista_guard.reading.visible import visible

if TYPE_CHECKING:
    from jinja2 import Environment


def page_environment(folder: Path) -> Environment:
    """Strict, escaping environment for the templates in a folder; texts lose characters that change direction.

    Raises ConfigError: jinja2 is not installed.
    """
    require("a page of HTML", "jinja2", extra="evaluation")
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    return Environment(
        loader=FileSystemLoader(folder),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: visible(value) if type(value) is str else value,
    )


def content_policy(style: str) -> str:
    """A page's content security policy: no script, no network, this style sheet alone."""
    digest = b64encode(sha256(style.encode()).digest()).decode()
    return f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
