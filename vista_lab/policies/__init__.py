"""Policies: what another policy would have done with judged turns, thresholds from labelled ones, and the policy lab."""

from vista_lab.registry import Additions

ADDS = Additions(commands="vista_lab.policies.calibrate:register", pages=("vista_lab.policies.page:PAGE",))
