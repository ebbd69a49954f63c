"""Other languages are named; English, however it is written, is not."""

from __future__ import annotations

import pytest

from vista_guard.judges.embedded.english.segment import foreign_language


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Das Museum wurde 1925 in Berlin eröffnet und ist täglich geöffnet.", "German (de)"),
        ("El museo abre a las nueve y cierra a las cinco de la tarde.", "Spanish (es)"),
        ("Le musée est ouvert tous les jours, sauf le lundi matin.", "French (fr)"),
        ("Музей открыт каждый день с девяти часов.", "Russian (ru)"),
        ("博物館は毎日九時に開きます。とても人気があります。", "Japanese (ja)"),
        ("المتحف مفتوح كل يوم من التاسعة صباحا", "Arabic (ar)"),
    ],
)
def test_another_language_is_named(text: str, language: str) -> None:
    assert foreign_language(text) == language


@pytest.mark.parametrize(
    "text",
    [
        "", "ok", "😀😀😀", "Oui!", "Ich bin ein Berliner.", "yeah idk lol its kinda cool tho",
        "José Álvarez of São Paulo played for Bayern München and Paris Saint-Germain.",
        "Det Kongelige Bibliotek, København", "import numpy as np\nprint(np.zeros(3))", "He said: c'est la vie, mon ami.",
        "12.5 kg, 3 x 4 m, $7.99", "Muse, Coldplay, Radiohead, Placebo, Blur, Oasis",
    ],
)  # fmt: skip
def test_english_raises_no_alarm(text: str) -> None:
    assert foreign_language(text) is None
