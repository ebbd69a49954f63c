"""A chatbot with the official OpenAI client, guarded by a URL: only `base_url` changes. Runs offline.

With OPENAI_BASE_URL it asks that server; else it starts `vista-guard serve` in front of a scripted model.
"""

import os
import subprocess
import sys
from tempfile import TemporaryDirectory
from typing import Any
from urllib.request import urlopen

from vista_guard.testing import ScriptedChatServer

try:
    import openai
    import starlette  # noqa: F401  for the scripted model
except ImportError as missing:
    print(f"{missing}. This example needs: pip install 'vista-guard[proxy,testing]'", file=sys.stderr)
    sys.exit(2)

# The text between the tags is the evidence that answers are verified against.
NOTES = "<context>The ferry was built in 1961 and carries 80 passengers. A ticket costs 4 euros.</context>"
ANSWERS = {
    "What does the ferry cost?": "A ticket costs 4 euros.",
    "How big and how old is it?": "The ferry carries 80 passengers. It was built in 1920. It is the oldest ferry here.",
}


def chat(base_url: str) -> None:
    """Two questions; the user sees the second answer up to its first false sentence."""
    client = openai.OpenAI(base_url=base_url, api_key=os.environ.get("OPENAI_API_KEY", "unused"))
    messages: list[Any] = [{"role": "system", "content": f"Answer from these notes. {NOTES}"}]
    for question in ANSWERS:
        messages.append({"role": "user", "content": question})
        print(f"user: {question}\nbot:  ", end="")
        said = ""
        stream: Any = client.chat.completions.create(model="gpt-5-mini", messages=messages, stream=True)
        for chunk in stream:
            said += chunk.choices[0].delta.content or ""
            print(chunk.choices[0].delta.content or "", end="", flush=True)
        messages.append({"role": "assistant", "content": said})
        print(f"\n  finish_reason {chunk.choices[0].finish_reason}, guard {chunk.vista_guard['action']}")


def chat_through_proxy() -> None:
    """Starts `vista-guard serve`, and behind it a model that says what is scripted."""
    with ScriptedChatServer(lambda asked: ANSWERS[asked.user]) as model, TemporaryDirectory() as data:
        command = [sys.executable, "-m", "vista_guard", "serve", "--port=0", f"--upstream={model.base_url}"]
        pipes: Any = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
        pipes["env"] = {**os.environ, "VISTA_GUARD_STORE": "memory"}  # the extra chroma keeps it on disk
        with subprocess.Popen([*command, f"--data-dir={data}"], text=True, **pipes) as server:
            try:
                greeting: str = next(iter(server.stderr or []))
                if " on " not in greeting:  # it did not start, and says why
                    print(greeting, end="", file=sys.stderr)
                    sys.exit(2)
                print(greeting, end="")
                base_url = greeting.split(" on ")[1].split(" ")[0]
                urlopen(base_url.removesuffix("v1") + "readyz").close()
                chat(base_url)
            finally:
                server.terminate()


if __name__ == "__main__":
    given = os.environ.get("OPENAI_BASE_URL")
    chat(given) if given else chat_through_proxy()
