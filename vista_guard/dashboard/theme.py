"""Colours and type, light and dark. Pairs of text and ground have a contrast of 4.5 to 1 or more.

The six tones are told apart by people who see no red or no green, and none is used without a sign (`parts.labels`).
"""

from __future__ import annotations

from typing import Final

LIGHT: Final = {
    "primaryColor": "#0f5c6e",
    "backgroundColor": "#fbfaf7",
    "secondaryBackgroundColor": "#f1eee7",
    "textColor": "#1b2430",
    "borderColor": "#d9d4c9",
    "linkColor": "#0f5c6e",
    "greenTextColor": "#0a5f46",
    "greenBackgroundColor": "#dbefe6",
    "redTextColor": "#97260c",
    "redBackgroundColor": "#fae0d7",
    "orangeTextColor": "#704500",
    "orangeBackgroundColor": "#fbe9c6",
    "blueTextColor": "#1d4a86",
    "blueBackgroundColor": "#dfeafa",
    "violetTextColor": "#573690",
    "violetBackgroundColor": "#eae1f8",
    "grayTextColor": "#4a5563",
    "grayBackgroundColor": "#e6e7e8",
}

DARK: Final = {
    "primaryColor": "#5cc3d6",
    "backgroundColor": "#10161d",
    "secondaryBackgroundColor": "#1a222c",
    "textColor": "#e6eaee",
    "borderColor": "#313c49",
    "linkColor": "#7fd3e2",
    "greenTextColor": "#7bdcb8",
    "greenBackgroundColor": "#12362b",
    "redTextColor": "#ffab94",
    "redBackgroundColor": "#47221a",
    "orangeTextColor": "#f5ca7d",
    "orangeBackgroundColor": "#3c2d10",
    "blueTextColor": "#a1c6f7",
    "blueBackgroundColor": "#182f4c",
    "violetTextColor": "#cbb3f7",
    "violetBackgroundColor": "#2f234a",
    "grayTextColor": "#b7c1cc",
    "grayBackgroundColor": "#28313b",
}

SHARED: Final = {
    "font": "sans-serif",
    "headingFont": "serif",
    "headingFontWeights": [600, 600, 600],
    "headingFontSizes": ["1.9rem", "1.4rem", "1.15rem"],
    "baseFontSize": 15,
    "baseRadius": "6px",
    "showWidgetBorder": True,
}


def options() -> dict[str, object]:
    """Streamlit's options for both themes; which one is shown is the reader's system's choice, or their own in the menu."""
    return {
        **{f"theme.{name}": value for name, value in SHARED.items()},
        **{f"theme.light.{name}": value for name, value in LIGHT.items()},
        **{f"theme.dark.{name}": value for name, value in DARK.items()},
    }
