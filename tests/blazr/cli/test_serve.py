"""`serve` before it listens: settings, keys, warnings. The server itself is tested where it lives."""

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from blazr.cli.serve import banner
from blazr.config import Settings, load_settings
from blazr.lifecycle.resolve import ResolvedModel
from tests.support.adapters import write_adapter

Blazr = Callable[..., Result]


@pytest.fixture
def served(loaded: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Catches what the command would serve, and leaves this process's threads alone."""
    monkeypatch.setattr("numr.set_num_threads", lambda count: None)
    monkeypatch.setattr(
        "blazr.server.run.serve", lambda store, settings, metrics: loaded.update(store=store, settings=settings)
    )
    return loaded


def settings(**server: Any) -> Settings:
    plain = load_settings(environ={})
    return dataclasses.replace(plain, server=dataclasses.replace(plain.server, **server))


def test_flags_become_settings(blazr: Blazr, served: dict[str, Any], tmp_path: Path) -> None:
    keys = tmp_path / "keys"
    keys.write_text("# ours\nfirst\n\nsecond\n")
    done = blazr(
        *("serve", "counting", "--host", "127.0.0.1", "--port", "0", "--api-key", "zero", "--api-key-file", str(keys)),
        *("--max-models", "3", "--memory-budget", "2G", "--keep-alive", "5m", "--cors-origin", "https://a.example"),
        *("--rate-limit", "60", "--request-timeout", "9", "--num-ctx", "64", "--threads", "1", "--precise", "--cpu"),
    )
    assert done.exit_code == 0, done.stderr
    server, inference = served["settings"].server, served["settings"].inference
    assert server.api_keys == ("zero", "first", "second")
    assert (server.max_models, server.memory_budget, server.keep_alive) == (3, 2 << 30, 300.0)
    assert (server.cors_origins, server.rate_limit, server.request_timeout_secs) == (("https://a.example",), 60.0, 9.0)
    assert (inference.max_context_len, inference.precise) == (64, True)
    assert served["store"].default_name == "counting"
    assert not served["store"].ready


def test_without_a_model_everything_loads_on_demand(blazr: Blazr, served: dict[str, Any]) -> None:
    done = blazr("serve")
    assert done.exit_code == 0, done.stderr
    assert served["store"].default_name is None
    assert served["store"].ready
    assert "on demand" in done.stderr


def test_the_banner_says_what_is_open() -> None:
    model = ResolvedModel("tiny", Path("tiny.gguf"))
    lines = "\n".join(banner(settings(host="127.0.0.1", api_keys=("a", "b"), cors_origins=("*",)), model))
    assert "http://127.0.0.1:8080" in lines
    assert "tiny" in lines
    assert "API keys 2" in lines
    assert "any origin" in lines
    assert "Warning" not in lines


@pytest.mark.parametrize(
    ("host", "warned"),
    [
        ("0.0.0.0", True),
        ("::", True),
        ("127.0.0.1", False),
        ("::1", False),
        ("localhost", False),
        ("example.org", True),
    ],
)
def test_a_public_address_without_a_key_is_warned_about(host: str, warned: bool) -> None:
    assert any("no API key" in line for line in banner(settings(host=host), None)) is warned
    assert not any("no API key" in line for line in banner(settings(host=host, api_keys=("k",)), None))


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (("missing",), 1, "no model named 'missing'; known are counting"),
        (("counting", "-m", "other"), 2, "two models given"),
        (("--tls-cert", "a.pem"), 1, "--tls-cert, --tls-key"),
        (("--api-key-file", "none"), 1, "(--api-key-file): none cannot be read"),
        (("--port", "99999"), 2, "'--port': must be between 0 and 65535"),
        (("--memory-budget", "lots"), 2, "'--memory-budget': must be a size such as 512M or 8G"),
        (("--gpu-layers", "1"), 2, "No such option"),
    ],
)
@pytest.mark.usefixtures("served")
def test_mistakes_are_found_before_anything_listens(
    blazr: Blazr, arguments: tuple[str, ...], status: int, message: str
) -> None:
    done = blazr("serve", *arguments)
    assert done.exit_code == status
    assert message in done.stderr


@pytest.mark.usefixtures("served")
def test_a_key_file_without_keys_would_open_the_server(blazr: Blazr, tmp_path: Path) -> None:
    (tmp_path / "keys").write_text("# nothing yet\n")
    done = blazr("serve", "--api-key-file", str(tmp_path / "keys"))
    assert (done.exit_code, "holds no key" in done.stderr) == (1, True)


@pytest.fixture
def adapters(tmp_path: Path) -> Path:
    for seed, name in enumerate(("one", "two")):
        write_adapter(tmp_path / "adapters" / name, seed)
    return tmp_path / "adapters"


def test_adapters_become_variants_of_the_start_model(blazr: Blazr, served: dict[str, Any], adapters: Path) -> None:
    done = blazr("serve", "counting", "--lora", str(adapters / "one"), "--lora", f"{adapters / 'two'}=mine")
    assert done.exit_code == 0, done.stderr
    assert [one.id for one in served["store"].variants()] == ["counting:mine", "counting:one"]
    assert "counting:one (rank 4, 4 modules)" in done.stderr


def test_adapters_of_the_configuration_file(
    blazr: Blazr, served: dict[str, Any], adapters: Path, tmp_path: Path
) -> None:
    (tmp_path / "config.toml").write_text(f'[inference]\nlora = ["{adapters / "one"}"]\n')
    done = blazr("serve", "counting", "--config", str(tmp_path / "config.toml"), "--activations", "int16", "--offload")
    assert done.exit_code == 0, done.stderr
    assert [one.id for one in served["store"].variants()] == ["counting:one"]
    inference = served["settings"].inference
    assert (inference.activations, inference.offload) == ("int16", True)


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (("--lora", "{}/one"), "--lora {}/one needs a start model"),
        (("counting", "--lora", "{}/none"), "--lora {}/none: {}/none does not exist"),
        (("counting", "--lora", "{}/one=a b"), "the adapter name 'a b' must be"),
        (("counting", "--lora", "{}/one", "--lora", "{}/one"), "--lora {}/one is given twice"),
        (("counting", "--lora", "{}/one", "--lora", "{}/two=one"), "counting:one is already another adapter"),
    ],
)
def test_adapters_that_cannot_be_served_stop_the_server_first(
    blazr: Blazr, served: dict[str, Any], adapters: Path, flags: tuple[str, ...], message: str
) -> None:
    done = blazr("serve", *(flag.replace("{}", str(adapters)) for flag in flags))
    assert done.exit_code == 1
    assert message.replace("{}", str(adapters)) in " ".join(done.stderr.split())
    assert "store" not in served
