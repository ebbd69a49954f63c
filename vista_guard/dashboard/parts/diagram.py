"""The reliability diagram: whether confidences mean what they say."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt

from vista_guard.dashboard.parts import charts
from vista_guard.evaluation.metrics.labels import Reliability


def diagram(found: Sequence[tuple[str, Reliability | None]], *, key: str = "reliability") -> None:
    """Draws it where the page is, for one or two judges; nothing where no claim is labelled.

    Args:
        found: names, with the reliability over labelled claims.
        key: of this place on the page.
    """
    known = [(name, one) for name, one in found if one is not None]
    if not known:
        return
    errors = ", ".join(f"{name} {one.ece:.3f}" for name, one in known)
    text = f"Of claims judged with a confidence, how many people agree with; both are the same on the dashed line. Gap: {errors}."
    rows = [(name, bin.confidence, bin.accuracy, bin.n) for name, one in known for bin in one.bins]
    header = ["judged with", "mean confidence", "right", "claims"]
    table: list[charts.Row] = [[name, round(confidence, 3), round(right, 3), n] for name, confidence, right, n in rows]
    charts.panel(key, "Reliability", text, _chart(rows, [name for name, _ in known]), header, table)


def _chart(rows: Sequence[tuple[str, float, float, int]], names: Sequence[str]) -> charts.AnyChart:
    data = [{"name": name, "confidence": confidence, "right": right, "n": n} for name, confidence, right, n in rows]
    legend = alt.Legend(orient="top", title=None)
    lines = (
        alt.Chart(alt.InlineData(values=data))
        .mark_line(point={"size": 50}, strokeWidth=2)
        .encode(
            x=alt.X("confidence:Q", title="mean confidence", scale=charts.UNIT, axis=alt.Axis(tickCount=10)),
            y=alt.Y("right:Q", title="share that is right", scale=charts.UNIT),
            color=charts.colour(names, by_look=False),
            shape=alt.Shape("name:N", sort=list(names), legend=legend),
            tooltip=["name:N", alt.Tooltip("confidence:Q", format=".2f"), alt.Tooltip("right:Q", format=".2f"), "n:Q"],
        )
    )
    ideal = alt.InlineData(values=[{"confidence": 0, "right": 0}, {"confidence": 1, "right": 1}])
    dashed = (
        alt.Chart(ideal)
        .mark_line(strokeDash=[4, 4], color=charts.tones()["third"])
        .encode(x="confidence:Q", y="right:Q")
    )
    return alt.layer(dashed, lines)
