"""Decomposers that others published, on any chat model: FActScore, VeriScore with its fine-tuned extractor, and Claimify.

Each asks about every sentence of a turn by itself, with prompts in words of our own. What their makers drop, a guard may not: a
sentence that is left without claims is judged as it stands.
"""

from __future__ import annotations

import hashlib
import json

from vista_guard.judges.model.chat.calling import ChatModel
from vista_guard.judges.model.prompt_files import Stage
from vista_guard.judges.model.prompts import Prompt
from vista_guard.judges.model.rendering import Roles
from vista_guard.settings.model import ModelOptions


def load_prompt(stage: Stage, asked: ModelOptions) -> Prompt:
    """The prompt of a stage as the options say: whose, with how many examples, and what it calls the speakers."""
    roles = Roles(assistant=asked.assistant_name, user=asked.user_name)
    return Prompt.load(stage, asked.prompts_dir, shots=asked.shots, roles=roles)


def fingerprint(model: ChatModel, *prompts: Prompt) -> str:
    """12 hex digits that change with all that shapes an answer."""
    shaping = [[one.info.fingerprint for one in prompts], dict(model.parameters)]
    return hashlib.sha256(json.dumps(shaping, sort_keys=True).encode()).hexdigest()[:12]
