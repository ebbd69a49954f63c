"""Units of measure by name and sign, and what each comes to in its dimension's base unit. A table, no logic."""

from __future__ import annotations

_TABLE: dict[str, dict[float, str]] = {
    "time": {
        1e-3: "ms millisecond milliseconds",
        1: "s sec secs second seconds",
        60: "min mins minute minutes minuted",
        3600: "h hr hrs hour hours hourly",
        86400: "day days daily",
        604800: "week weeks weekly wk wks",
        1209600: "fortnight fortnights fortnightly",
    },
    "months": {1: "month months monthly", 3: "quarterly", 12: "year years yr yrs yearly annual annually annum",
               120: "decade decades", 1200: "century centuries"},
    "length": {1e-3: "mm millimetre millimetres millimeter millimeters", 0.01: "cm centimetre centimetres centimeter centimeters",
               1: "m metre metres meter meters", 1000: "km kilometre kilometres kilometer kilometers",
               0.0254: "inch inches", 0.3048: "ft foot feet", 0.9144: "yd yard yards", 1609.344: "mi mile miles"},
    "mass": {1e-9: "mcg µg microgram micrograms", 1e-6: "mg milligram milligrams", 1e-3: "g gram grams gramme grammes",
             1: "kg kgs kilo kilos kilogram kilograms", 1000: "tonne tonnes", 0.45359237: "lb lbs pound-weight",
             0.028349523: "oz ounce ounces", 907.18474: "ton tons"},
    "volume": {1e-3: "ml millilitre millilitres milliliter milliliters", 0.01: "cl centilitre centilitres",
               1: "l litre litres liter liters", 3.785411784: "gallon gallons", 0.473176473: "pint pints"},
    "area": {1: "m² sqm", 1e4: "ha hectare hectares", 4046.8564224: "acre acres", 1e6: "km²"},
    "bytes": {1e3: "kb kilobyte kilobytes", 1e6: "mb megabyte megabytes", 1e9: "gb gigabyte gigabytes",
              1e12: "tb terabyte terabytes"},
    "power": {1: "w watt watts", 1e3: "kw kilowatt kilowatts", 1e6: "mw megawatt megawatts"},
    "energy": {1: "wh", 1e3: "kwh", 1e6: "mwh"},
    "speed": {1: "mph", 0.621371192: "km/h kph kmh"},
    "celsius": {1: "°c celsius centigrade"},
    "fahrenheit": {1: "°f fahrenheit"},
    "share": {0.01: "% percent pct percentage"},
    "EUR": {1: "€ euro euros eur", 0.01: "cent-euro"},
    "USD": {1: "$ us$ dollar dollars usd bucks", 0.01: "¢ cent cents"},
    "GBP": {1: "£ pound pounds gbp sterling quid", 0.01: "pence p"},
    "JPY": {1: "¥ yen jpy"},
    "INR": {1: "₹ rupee rupees inr"},
    "CHF": {1: "chf franc francs"},
    "money": {1: "crown crowns krone kroner guilder guilders"},
}  # fmt: skip

UNITS = {
    name: (dimension, factor)
    for dimension, units in _TABLE.items()
    for factor, names in units.items()
    for name in names.split()
}
"""(dimension, factor to its base unit) by name in lower case."""

MONEY = frozenset(("EUR", "USD", "GBP", "JPY", "INR", "CHF", "money"))
"""Dimensions that are currencies: none can be had from another without a rate."""
SIGNS = "$€£¥₹"
"""Signs that stand before their amount."""

RELATED = {"time": "months", "months": "time"}
"""Dimensions that are told in each other only roughly: a month has no fixed number of days."""
SECONDS_A_MONTH = 30.44 * 86400
"""On average over the years."""
