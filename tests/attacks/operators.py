"""Figures with another operator, sign, unit or zone than their document has: carrier × figure × what stands beside it.

Each figure comes as its document has it, in other words that mean the same, and with words beside it that change it. Groups of
`ASIDE` were written first and kept aside while the rules were written.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Figure:
    """One figure: carriers to say it in, as the document has it, as it may be told, and as it may not."""

    carriers: tuple[str, ...]
    given: str
    same: tuple[str, ...]
    other: tuple[str, ...]

    def cases(self, told: tuple[str, ...]) -> list[tuple[str, str]]:
        """(claim, document) for each of the ways to tell it."""
        return [
            (carrier.replace("<>", one), carrier.replace("<>", self.given)) for carrier in self.carriers for one in told
        ]


_DOSE = ("The recommended dose of Norvex is <>.", "Children over six take <> of the syrup.")
_TERM = ("Refunds are paid <> after the parcel arrives.", "The deposit is returned <> after you leave.")
_OPENS = ("The help desk opens at <>.", "The webinar begins at <>.")
_COLD = ("The vaccine must be stored at <>.", "The lowest reading at the station was <>.")
_PRICE = ("A berth in the harbour costs <>.", "The storage service charges <>.")
_SIZE = ("The plot covers <>.", "The new depot has <> of floor.")
_SHARE = ("The levy rose by <>.", "Members get <> off the ticket price.")
_OFTEN = ("The filter must be changed <>.", "The ferry to Lisk runs <>.")

ASIDE = (
    Figure(_DOSE, "15 mg", ("15 milligrams", "15mg"),
           ("thrice 15 mg", "below 15 mg", "15 mg every hour", "15 mg per kilogram", "a quarter of 15 mg",
            "15 mg more than usual",
            "15 mg per square metre", "15 mg/ml", "over 15 mg", "15 mg three times a day", "not quite 15 mg",
            "15 mg per tablet")),
    Figure(_TERM, "14 days", ("fourteen days", "two weeks"),
           ("14 working days", "14 banking days", "more than 14 days", "up to 14 days", "14 trading days", "14 nights",
            "14 school days")),
    Figure(_OPENS, "8:30 a.m. CET", ("08:30 CET", "8:30 am CET"),
           ("8:30 a.m. GMT", "8:30 a.m. EST", "8:30 p.m. CET", "8:30 a.m. Tokyo time", "8:30 a.m. Pacific time")),
    Figure(_COLD, "12 °C", ("12°C", "12 degrees Celsius"),
           ("-12 °C", "minus 12 °C", "12 °C below zero", "12 °F", "under 12 °C", "12 degrees Fahrenheit")),
    Figure(_PRICE, "40 euros a month", ("40 euros per month", "€40 monthly"),
           ("40 euros a week", "40 euros an hour", "40 euros per person", "double 40 euros a month", "over 40 euros a month",
            "40 dollars a month", "40 euros per metre a month")),
    Figure(_SIZE, "250 square metres", ("250 m²", "250 sq m"),
           ("250 metres", "250 square feet", "250 cubic metres", "half of 250 square metres", "under 250 square metres")),
    Figure(_OFTEN, "every 6 weeks", ("every six weeks", "once every 6 weeks"),
           ("every 6 days", "every 6 months", "6 times a week", "every other 6 weeks", "every 6 hours")),
)  # fmt: skip
"""Kept aside: read for the figures alone."""

FIGURES = (
    Figure(_DOSE, "20 mg", ("20 mg", "20 milligrams"),
           ("twice 20 mg", "under 20 mg", "20 mg per hour", "20 mg/kg", "half of 20 mg", "20 mg every other day",
            "more than 20 mg",
            "less than 20 mg", "double 20 mg", "20 mg per dose and kilogram", "20 mg twice a day", "20 mg/h", "at most 20 mg",
            "at least 20 mg", "up to 20 mg", "-20 mg", "20 mg per day per kilogram", "20 mcg", "20 ml", "a third of 20 mg",
            "20 mg or more", "20 mg daily")),
    Figure(_DOSE, "20 mg per day", ("20 mg a day", "20 mg daily", "20 mg each day", "20 mg/day"),
           ("20 mg per hour", "20 mg every other day", "20 mg per week", "20 mg a week", "20 mg/kg per day",
            "20 mg twice per day",
            "20 mg every second day", "20 mg hourly", "under 20 mg per day", "20 mg on alternate days")),
    Figure(_TERM, "30 days", ("30 days", "thirty days"),
           ("30 business days", "30 working days", "twice 30 days", "under 30 days", "at least 30 days", "over 30 days",
            "30 weeks", "30 months", "half of 30 days")),
    Figure(_TERM, "30 calendar days", ("30 calendar days", "30 days"),
           ("30 business days", "30 working days", "fewer than 30 calendar days", "30 calendar weeks")),
    Figure(_OPENS, "9 a.m. EST", ("9 a.m. EST", "9 am EST", "9:00 a.m. EST"),
           ("9 a.m. PST", "9 p.m. EST", "9 a.m. UTC", "9 a.m. CET", "9 a.m. London time", "9 a.m. Eastern Australian time")),
    Figure(_OPENS, "9 a.m.", ("9 a.m.", "9 am", "9:00", "9 o'clock"), ("9 a.m. PST", "9 p.m.", "9 a.m. UTC",
           "9 a.m. Moscow time")),
    Figure(_COLD, "5 degrees", ("5 degrees", "five degrees", "5°"),
           ("-5 degrees", "minus 5 degrees", "5 degrees below zero", "−5 degrees", "over 5 degrees", "twice 5 degrees")),
    Figure(_COLD, "-5 degrees", ("minus 5 degrees", "−5 degrees", "-5 degrees"), ("5 degrees", "+5 degrees", "plus 5 degrees")),
    Figure(_PRICE, "60 euros a day", ("60 euros per day", "60 euros a day", "€60 a day", "60 euros daily"),
           ("60 euros an hour", "60 euros per week", "60 euros a month", "60 euros per person", "under 60 euros a day",
            "60 dollars a day", "twice 60 euros a day", "60 euros per metre a day", "60 euros every other day",
            "60 cents a day",
            "60 euros a year")),
    Figure(_PRICE, "$35 per month", ("$35 a month", "35 dollars per month", "$35 monthly"),
           ("$35 per user per month", "$35 per week", "over $35 per month", "€35 per month", "$35 per hour", "$35 a year")),
    Figure(_SIZE, "400 square metres", ("400 square metres", "400 m²", "400 square meters"),
           ("400 cubic metres", "400 metres", "400 square feet", "twice 400 square metres", "over 400 square metres")),
    Figure(_SHARE, "25 percent", ("25 percent", "25%", "25 per cent"),
           ("over 25 percent", "under 25 percent", "twice 25 percent", "25 percent a year", "25 euros", "-25 percent")),
    Figure(_OFTEN, "every day", ("every day", "daily", "each day"),
           ("every other day", "every second day", "twice a day", "every week", "every hour", "on alternate days",
            "every third day")),
    Figure(_OFTEN, "every 4 days", ("every four days", "every 4 days", "once every 4 days"),
           ("every 4 weeks", "every 4 hours", "4 times a day", "every 4 months")),
)  # fmt: skip
