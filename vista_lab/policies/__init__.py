"""Policies: what another policy would have done with judged turns, thresholds from labelled ones, and the policy lab."""

from vista_lab.registry import Additions, Command

ADDS = Additions(
    commands=(
        Command(
            "calibrate",
            "vista_lab.policies.calibrate:calibrate",
            "Choose thresholds from labelled turns, or a verifier's from labelled claims.",
        ),
        Command("verifiers", "vista_lab.policies.calibrate:verifiers", "Measure a verifier of your own."),
    ),
    pages=("vista_lab.policies.page:PAGE",),
)
