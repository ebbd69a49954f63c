"""vista-guard as a validator of Guardrails AI: it asks a proxy, `vista-guard serve --upstream URL`, at VISTA_GUARD_URL.

pip install guardrails-ai
"""

import os
import sys
from typing import Any

try:
    import requests
    from guardrails import Guard
    from guardrails.classes.validation.validation_result import ErrorSpan
    from guardrails.validator_base import FailResult, PassResult, ValidationResult, Validator, register_validator
except ImportError as missing:
    print(f"{missing}. This example needs: pip install guardrails-ai", file=sys.stderr)
    sys.exit(2)

URL = os.environ.get("VISTA_GUARD_URL", "http://127.0.0.1:8080")
DELIVERED = ("ALLOW", "FLAG")
WRONG = ("CONTRADICTED", "LACKING_EVIDENCE")


@register_validator(name="vista-guard/grounded", data_type="string")
class Grounded(Validator):  # type: ignore[misc]  # untyped where Guardrails AI is not installed
    """Passes an answer that the policy delivers. `metadata` has its `documents`, and the `messages` before it."""

    def _validate(self, value: Any, metadata: dict[str, Any]) -> ValidationResult:
        messages = [*metadata.get("messages", ()), {"role": "assistant", "content": value}]
        asked = {"messages": messages, "documents": metadata.get("documents", [])}
        key = {"x-vista-guard-key": os.environ.get("VISTA_GUARD_KEY", "")}
        answer = requests.post(f"{URL}/guard/check", json=asked, headers=key, timeout=60)
        answer.raise_for_status()  # an answer that was not judged does not pass
        report = answer.json()
        if report["decision"]["action"] in DELIVERED:
            return PassResult(metadata={"action": report["decision"]["action"], "score": report["score"]})
        claims = [outcome["claim"] for outcome in report["outcomes"] if outcome.get("label") in WRONG]
        spans = [
            ErrorSpan(start=claim["span"]["start"], end=claim["span"]["end"], reason=claim["text"])
            for claim in claims
            if claim.get("span")
        ]
        # `on_fail="fix"` delivers the repaired answer, or the policy's message.
        return FailResult(
            error_message=report["decision"]["reason"], fix_value=report["response"], error_spans=spans or None
        )

    def _chunking_function(self, chunk: str) -> list[str]:  # noqa: ARG002
        return []  # a stream is held until its end: claims of one answer need the sentences before them


if __name__ == "__main__":
    guard = Guard().use(Grounded(on_fail="fix"))
    found = {"documents": ["The whale hall opened in 1925. Entry is free on Sundays."]}
    for answer in ("The whale hall opened in 1925.", "The whale hall opened in 1850."):
        outcome = guard.validate(answer, metadata=found)
        print(outcome.validated_output)
        for summary in outcome.validation_summaries or ():
            print("  failed:", [span.reason for span in summary.error_spans or ()])
