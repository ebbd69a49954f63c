"""What tells two policies of one name apart. Pure."""

from __future__ import annotations

from hashlib import sha256

from pydantic import BaseModel

from vista_guard.protocols import Policy


def rules_key(policy: Policy) -> str | None:
    """A fingerprint of all that the policy decides by (16 hex digits): a preset with overrides has another than the preset.

    None for a policy of another kind, which is known by its name alone.
    """
    return sha256(policy.model_dump_json().encode()).hexdigest()[:16] if isinstance(policy, BaseModel) else None
