"""What a request means by `model` and `lora_adapter`. Loads nothing; an adapter that is unknown is never its base."""

from __future__ import annotations

from blazr.errors import ModelNotFoundError, RequestError
from blazr.lifecycle.resolve import ModelDirectory, ResolvedModel, no_model_named
from blazr.lifecycle.threads import in_thread
from blazr.lifecycle.variants import Variant, VariantTable

__all__ = ["Names"]


class Names:
    """Models of a directory, and registered variants of them. `start` is the model of requests that name none."""

    def __init__(self, directory: ModelDirectory, start: str | None) -> None:
        self.start = start
        self.variants = VariantTable()
        self._directory = directory

    async def all(self) -> list[str]:
        """Start model first, each model's variants behind it."""
        entries = await in_thread(self._directory.entries)
        models = dict.fromkeys([*([self.start] if self.start else []), *(model.name for model in entries)])
        return [name for model in models for name in (model, *(one.id for one in self.variants.of(model)))]

    async def find(self, name: str | None, adapter: str | None = None) -> tuple[ResolvedModel, Variant | None]:
        """The model and the variant of it. Raises ModelNotFoundError; RequestError where the two contradict."""
        found, variant = await self._find_model(name or self.start)
        if not adapter:
            return found, variant
        if variant is not None and variant.name != adapter:
            raise RequestError(f"model names the adapter {variant.name}, and lora_adapter another one", "lora_adapter")
        return found, self.variants.require(found.name, adapter)

    async def find_variant(self, name: str, model: str | None) -> Variant:
        """A registered variant, also when its base has gone; `model` None: the start model, or the one that fits."""
        if model is None and self.start is None:
            same = self.variants.named(name)
            if len(same) > 1:
                raise RequestError(f"several models have an adapter named {name!r:.100}: say which model", "model")
            model = same[0].base if same else None
        known = self.variants.find(model, name) if model is not None else None
        return known or self.variants.require((await self.find(model))[0].name, name)

    async def _find_model(self, name: str | None) -> tuple[ResolvedModel, Variant | None]:
        if name is None:
            entries = await in_thread(self._directory.entries)
            if len(entries) != 1:
                raise no_model_named([model.name for model in entries])
            return entries[0], None
        try:
            return await self._resolve(name), None
        except ModelNotFoundError as error:
            base, _, variant = name.rpartition(":")
            if not (base and variant):
                raise
            try:
                found = await self._resolve(base)
            except ModelNotFoundError:
                raise error from None
            return found, self.variants.require(found.name, variant)

    async def _resolve(self, name: str) -> ResolvedModel:
        alias = self._directory.aliases.get(name)
        return alias if alias is not None else await in_thread(self._directory.find, name)
