"""The official OpenAI client behind the guard: the same calls, and a wrong sentence never reaches the screen.

Runs offline: a scripted server says what a model might. Give `openai.OpenAI()` to `guarded` to ask a real one.
"""

from __future__ import annotations

import sys
from typing import Any

from vista_guard import Blocked, Guard
from vista_guard.testing import ScriptedChatServer

try:
    import openai
    import starlette  # noqa: F401  for the scripted server

    from vista_guard.integrations.openai import guarded, report_of
except ImportError as missing:
    print(f"{missing}. This example needs: pip install 'vista-guard[testing]'", file=sys.stderr)
    sys.exit(2)

NOTES = "The whale hall of the tide museum opened in 1925. Entry costs 12 euros."
RIGHT = "The whale hall opened in 1925. Entry costs 12 euros."
WRONG = "The whale hall opened in 1874. Entry costs 12 euros."


def main() -> None:
    """A right answer, streamed; then a wrong one, which is withheld."""
    guard = Guard.from_settings()
    with ScriptedChatServer([RIGHT, WRONG, WRONG], tokens_per_second=200) as server:
        own = openai.OpenAI(base_url=server.base_url, api_key="unused")
        client = guarded(own, guard, conversation_id="visitor-7")
        # `documents` is for the guard: it is taken off before the message is sent.
        question: Any = {"role": "user", "content": "When did it open, and what is entry?", "documents": [NOTES]}

        stream = client.chat.completions.create(model="gpt-5-mini", messages=[question], stream=True)
        for chunk in stream:
            print(chunk.choices[0].delta.content or "", end="", flush=True)
        print(f"\n  {_told(stream)}")

        try:
            client.chat.completions.create(model="gpt-5-mini", messages=[question])
        except Blocked as blocked:
            print(f"withheld: {blocked.report.decision.reason}")

        polite = guarded(own, guard, on_block="replace")
        completion = polite.chat.completions.create(model="gpt-5-mini", messages=[question])
        print(completion.choices[0].message.content)
        print(f"  {_told(completion)}, finish_reason {completion.choices[0].finish_reason}")


def _told(result: object) -> str:
    report = report_of(result)
    return "not judged" if report is None else f"{report.decision.action}, VISTA score {report.score}"


if __name__ == "__main__":
    main()
