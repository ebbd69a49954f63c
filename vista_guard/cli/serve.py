"""`vista-guard serve`: the guard's proxy in front of an OpenAI-compatible endpoint."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from vista_guard.cli.common import (
    STOPPED,
    DataDirOption,
    DecomposerOption,
    EmbedderOption,
    HostOption,
    JudgeOption,
    PersonaOption,
    PolicyOption,
    VerifierOption,
    exit_codes,
    given_options,
)

if TYPE_CHECKING:
    from vista_guard.guard import Guard

Gate = Literal["none", "sentence", "turn"]


def serve(
    upstream: Annotated[
        str | None,
        typer.Option(metavar="URL", help="The guarded endpoint's base URL, such as https://api.openai.com/v1."),
    ] = None,
    host: HostOption = None,
    port: Annotated[
        int | None,
        typer.Option(
            min=0, max=65535, metavar="N", help="Port; 0 for a free one.  [default: from the settings, else 8080]"
        ),
    ] = None,
    gate: Annotated[
        Gate | None,
        typer.Option(
            help="How much of a stream is held back until it is judged.  [default: from the settings, else sentence]"
        ),
    ] = None,
    off: Annotated[
        bool, typer.Option("--off", help="For emergencies: pass everything unjudged, with a header that says so.")
    ] = False,
    judge: JudgeOption = None,
    verifier: VerifierOption = None,
    decomposer: DecomposerOption = None,
    embedder: EmbedderOption = None,
    policy: PolicyOption = None,
    persona: PersonaOption = None,
    data_dir: DataDirOption = None,
    allow_anonymous: Annotated[
        bool, typer.Option("--allow-anonymous", help="Accept other machines without API keys.")
    ] = False,
    new_key: Annotated[
        str | None, typer.Option(metavar="TENANT", help="Print a new API key for TENANT and its hash, and exit.")
    ] = None,
) -> None:
    """Guard an OpenAI-compatible endpoint.

    Point your chatbot's base URL at this server. Answers of /v1/chat/completions and /v1/responses are guarded,
    streamed or not; everything else passes through. Reports are kept in the data folder unless the settings name
    another place. On Ctrl-C or SIGTERM the server stops listening, finishes open streams and exits with 128 + signal;
    it exits with 2 for wrong usage or settings, 1 for other failures.

    Example: `vista-guard serve --upstream https://api.openai.com/v1`
    """
    with exit_codes():
        from vista_guard._extras import require
        from vista_guard._listening import listening

        require("the proxy", "fastapi", "httpx2", "prometheus_client", "sqlalchemy", "uvicorn", extra="proxy")
        if new_key is not None:
            print_new_key(new_key)
            return
        from vista_guard.proxy.security import check_exposure
        from vista_guard.proxy.server import run
        from vista_guard.proxy.settings import ProxySettings
        from vista_guard.telemetry.sdk import configured

        options = given_options(upstream=upstream, host=host, port=port, gate=gate, off=off or None)
        settings = ProxySettings.load(**options)
        check_exposure(settings, allow_anonymous=allow_anonymous)
        with listening(settings.host, settings.port, "Choose another --host or --port") as listener:
            models = {"judge": judge, "verifier": verifier, "decomposer": decomposer, "embedder": embedder}
            overrides = {**models, "policy": policy, "persona": persona}
            guard = build_guard(overrides, data_dir=data_dir)
            with configured("vista-guard-proxy"), guard:
                signal_number = run(guard, settings, listener, lambda line: typer.echo(line, err=True))
    raise typer.Exit(STOPPED + signal_number if signal_number else 0)


def print_new_key(tenant: str) -> None:
    """Prints a key on the first line of stdout, its line for the settings on the second, and instructions on stderr.

    Raises:
        ConfigError: no tenant can have that name.
    """
    from vista_guard.errors import ConfigError
    from vista_guard.proxy.security import key_hash, new_key
    from vista_guard.proxy.settings import check_tenant

    try:
        check_tenant(tenant)
    except ValueError as exc:
        raise ConfigError(str(exc)) from exc
    key = new_key()
    typer.echo(key)
    typer.echo(f'{tenant} = ["{key_hash(key)}"]')
    typer.echo(
        f"The first line is the key: give it to {tenant}, it is not shown again. "
        "Put the second line under [proxy.keys] in vista-guard.toml.",
        err=True,
    )


def build_guard(named: Mapping[str, Any], *, data_dir: Path | None) -> Guard:
    """Builds the guard of the settings, keeping reports by default, with the alerts that the settings ask for.

    Raises:
        ConfigError: also where knowledge would be kept in memory and the settings do not ask for that, since servers run long.
    """
    from vista_guard._extras import require_chroma
    from vista_guard.assembly import keeps_in_memory
    from vista_guard.guard import Guard
    from vista_guard.proxy.alerts import alert_sinks
    from vista_guard.settings.sources import Settings

    stores: dict[str, Any] = {} if data_dir is None else {"data_dir": data_dir}
    settings = Settings.load(**stores)
    if settings.store is None and keeps_in_memory(settings):
        require_chroma('keeping what conversations establish (or set store = "memory")')
    if "reports" not in settings.model_fields_set:
        stores["reports"] = "sqlite"
    return Guard.from_settings(**named, **stores, sinks=alert_sinks(settings.environment))
