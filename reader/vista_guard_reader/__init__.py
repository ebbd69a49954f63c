"""The careful reader of vista-guard's embedded judge: files, no code. `MODEL_CARD.md` says what each one is."""

from pathlib import Path
from typing import Final

FOLDER: Final = Path(__file__).parent
"""Folder of the files; `reader.json` in it has their version, and `judge.json` of `vista-guard-weights` their SHA-256."""
