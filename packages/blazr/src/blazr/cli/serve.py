"""`blazr serve`: settings into a model store, the store into the HTTP server, and a banner that says what is open."""

from __future__ import annotations

import dataclasses
import ipaddress
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from blazr import __version__
from blazr.cli.console import dim, note, set_up_logging
from blazr.cli.options import RUNTIME, cpu_option, model_argument, settings_options
from blazr.config import ServerSettings, Settings
from blazr.errors import BlazrError, ModelLoadError, SettingsError
from boostr.errors import AdapterError, BoostrError

if TYPE_CHECKING:
    from blazr.engine import Lane
    from blazr.lifecycle.resolve import ResolvedModel
    from blazr.lifecycle.store import ModelStore
    from blazr.lifecycle.variants import Variant
    from blazr.metrics import Metrics

__all__ = ["serve"]

_FLAGS = {
    "--host": ("server", "host"),
    "--port": ("server", "port"),
    "--chat-template": ("inference", "chat_template"),
    "--api-key": ("server", "api_keys"),
    "--api-key-file": ("server", "api_key_file"),
    "--tls-cert": ("server", "tls_cert"),
    "--tls-key": ("server", "tls_key"),
    "--lora": ("inference", "lora"),
    "--lora-root": ("server", "lora_roots"),
    "--offload": ("inference", "offload"),
    "--cors-origin": ("server", "cors_origins"),
    "--rate-limit": ("server", "rate_limit"),
    "--request-timeout": ("server", "request_timeout_secs"),
    "--max-models": ("server", "max_models"),
    "--memory-budget": ("server", "memory_budget"),
    "--keep-alive": ("server", "keep_alive"),
}


@click.command()
@model_argument
@settings_options(_FLAGS, RUNTIME)
@cpu_option
def serve(model: str | None, model_flag: str | None, settings: Settings) -> None:
    """Start the inference server.

    MODEL loads before the server reports ready; without one, models load when a request names them.
    """
    if model is not None and model_flag is not None and model != model_flag:
        raise click.UsageError(f"two models given: {model} and --model {model_flag}")
    set_up_logging("info")
    settings = _with_keys(_with_model(settings, model or model_flag))
    start = _start_model(settings)
    from blazr.lifecycle.loading import use_threads

    use_threads(settings.inference)
    from blazr.metrics import Metrics

    metrics = Metrics()
    variants = _start_variants(settings, start)
    store = make_store(settings, start, metrics, variants)
    for line in banner(settings, start, variants):
        note(line)
    from blazr.server.run import serve as serve_http

    try:
        serve_http(store, settings, metrics)
    except ModelLoadError as error:
        if isinstance(error.__cause__, AdapterError):
            raise SettingsError(f"--lora: {error.__cause__}") from error
        raise


def make_store(
    settings: Settings, start: ResolvedModel | None, metrics: Metrics, variants: Sequence[Variant] = ()
) -> ModelStore[Lane]:
    """The store of a server: models of the model directory, and the start model and its variants wherever they lie."""
    from blazr.engine import Lane, LaneLimits
    from blazr.lifecycle.adapter_paths import AdapterPaths
    from blazr.lifecycle.facts import describe_model
    from blazr.lifecycle.loading import load_model
    from blazr.lifecycle.memory import machine_memory
    from blazr.lifecycle.resolve import ModelDirectory
    from blazr.lifecycle.store import ModelStore

    server, inference = settings.server, settings.inference
    limits = LaneLimits(
        max_sequences=server.max_concurrent_requests,
        max_queue=server.max_queue,
        max_inflight_tokens=server.max_inflight_tokens,
    )
    aliases = dict.fromkeys((start.name, server.model or start.name), start) if start is not None else {}
    return ModelStore(
        ModelDirectory(inference.model_dir, aliases),
        load=lambda found: load_model(found, inference),
        make_lane=lambda model: Lane(model, limits, metrics),
        describe=lambda found: describe_model(found, inference.chat_template),
        start=start.name if start is not None else None,
        start_variants=variants,
        adapter_paths=AdapterPaths(server.lora_roots, [variant.path for variant in variants]),
        max_models=server.max_models,
        memory_budget=server.memory_budget if server.memory_budget is not None else machine_memory(),
        keep_alive=server.keep_alive,
        context_length=inference.max_context_len,
        paged=inference.offload,
        metrics=metrics,
    )


def banner(settings: Settings, start: ResolvedModel | None, variants: Sequence[Variant] = ()) -> list[str]:
    """What is being served, to whom."""
    import numr

    server = settings.server
    scheme = "https" if server.tls_cert else "http"
    host = f"[{server.host}]" if ":" in server.host else server.host
    native = numr.show_config()
    lines = [
        f"blazr {__version__} at {scheme}://{host}:{server.port}",
        dim(f"  model    {start.name if start else 'on demand from ' + str(Path(settings.inference.model_dir))}"),
        *(dim(f"  adapter  {one.id} (rank {one.rank}, {one.module_count} modules)") for one in variants),
        dim(f"  backend  cpu ({native['level']}, threads: {native['threads']})"),
        dim(f"  API keys {len(server.api_keys) or 'none'}"),
        dim(f"  CORS     {_cors(server)}"),
    ]
    if _public(server.host) and not server.api_keys:
        lines.append(
            f"Warning: {server.host} is open to the network and no API key is set: anyone who reaches port"
            f" {server.port} can use the server (--api-key, or --host 127.0.0.1)"
        )
    return lines


def _start_model(settings: Settings) -> ResolvedModel | None:
    if settings.server.model is None:
        return None
    from blazr.lifecycle.facts import read_facts
    from blazr.lifecycle.resolve import resolve_local

    found = resolve_local(settings.server.model, settings.inference.model_dir)
    read_facts(found, settings.inference.chat_template)  # a broken file or template is found before anything listens
    return found


def _start_variants(settings: Settings, start: ResolvedModel | None) -> list[Variant]:
    """The adapters of --lora, read and checked by themselves; whether they fit the model, loading it will tell."""
    from blazr.lifecycle.variants import VariantTable, read_variant, split_adapter

    table = VariantTable()
    for text in settings.inference.lora:
        if start is None:
            raise SettingsError(f"--lora {text} needs a start model: name one as MODEL or --model")
        try:
            path, name = split_adapter(text)
            added = table.add(read_variant(start.name, path, name))
        except (BlazrError, BoostrError, ValueError) as error:
            raise SettingsError(f"--lora {text}: {error}") from error
        if not added:
            raise SettingsError(f"--lora {text} is given twice")
    return table.all()


def _with_model(settings: Settings, model: str | None) -> Settings:
    return settings if model is None else _replace_server(settings, model=model)


def _with_keys(settings: Settings) -> Settings:
    """Keys of the key file join those given directly."""
    file = settings.server.api_key_file
    if file is None:
        return settings
    from blazr.server.middleware.api_keys import read_key_file

    return _replace_server(settings, api_keys=(*settings.server.api_keys, *read_key_file(file)), api_key_file=None)


def _replace_server(settings: Settings, **changes: Any) -> Settings:
    return dataclasses.replace(settings, server=dataclasses.replace(settings.server, **changes))


def _cors(server: ServerSettings) -> str:
    if not server.cors_enabled or not server.cors_origins:
        return "off"
    return "any origin" if "*" in server.cors_origins else ", ".join(server.cors_origins)


def _public(host: str) -> bool:
    if host == "localhost":
        return False
    try:
        return not ipaddress.ip_address(host).is_loopback
    except ValueError:
        return True
