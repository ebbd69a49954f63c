"""From outcomes to a decision. Pure, except for reading files.

`label_policy` has the presets and the policy itself, `turn_risk` the scores and the calibrated risk of a turn, `risk` the
thresholds that keep a promised rate, `labels` people's labels. docs/policies.md shows how to choose; docs/design/risk-control.md
and docs/design/turn-risk.md give the statistics.
"""
