"""What a call cost, in US dollars: the user's prices first, then the table of the library genai-prices. Never the network."""

from __future__ import annotations

from collections.abc import Mapping

from vista_guard.settings.model import Price


class PriceTable:
    """Prices of one model behind one endpoint.

    Args:
        model: its name.
        overrides: prices by model name, which go before the table's.
        url: the endpoint, which tells the provider. A provider that the table does not know is not priced: the same
            weights cost nothing on one's own machine.
        provider: the provider's name, in place of a URL.
    """

    def __init__(
        self, model: str, overrides: Mapping[str, Price], *, url: str | None = None, provider: str | None = None
    ) -> None:
        self._model = model
        self._own = overrides.get(model)
        self._url = url
        self._provider = provider
        # Asked here once: the table takes a moment to load, and no turn should wait for it.
        self.known = self._own is not None or self._from_table(0, 0, 0) is not None

    def cost(self, input_tokens: int, output_tokens: int, cached_tokens: int) -> float | None:
        """US dollars; `cached_tokens` are among `input_tokens`. None when the price is not known."""
        if not self.known:
            return None
        cached_tokens = min(cached_tokens, input_tokens)
        if self._own is None:
            return self._from_table(input_tokens, output_tokens, cached_tokens)
        cached_price = self._own.input if self._own.cached_input is None else self._own.cached_input
        fresh = input_tokens - cached_tokens
        return (fresh * self._own.input + cached_tokens * cached_price + output_tokens * self._own.output) / 1e6

    def _from_table(self, input_tokens: int, output_tokens: int, cached_tokens: int) -> float | None:
        if self._url is None and self._provider is None:
            return None
        from genai_prices import Usage, calc_price

        usage = Usage(input_tokens=input_tokens, output_tokens=output_tokens, cache_read_tokens=cached_tokens)
        try:
            if self._url is not None:
                price = calc_price(usage, self._model, provider_api_url=self._url)
            else:
                price = calc_price(usage, self._model, provider_id=self._provider)
        except (LookupError, ValueError):  # unknown provider or model; a kind of token that has no price
            return None
        return float(price.total_price)
