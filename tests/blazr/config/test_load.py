"""Where settings come from, which source wins, and that every mistake is named."""

import dataclasses
import math
from pathlib import Path
from typing import Any

import pytest

from blazr.config import load_settings
from blazr.config.load import environment_name
from blazr.config.settings import SECTIONS, TERMINAL_GENERATION
from blazr.errors import SettingsError


@pytest.fixture
def write(tmp_path: Path) -> Any:
    def write(text: str) -> Path:
        path = tmp_path / "config.toml"
        path.write_text(text)
        return path

    return write


@pytest.fixture(autouse=True)
def no_user_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))


def test_defaults() -> None:
    settings = load_settings(environ={})
    assert (settings.server.host, settings.server.port) == ("0.0.0.0", 8080)
    assert settings.generation.max_tokens == 256
    assert settings.generation.temperature == 1.0
    assert settings.server.keep_alive == math.inf
    assert settings.source is None


def test_commands_at_a_terminal_have_their_own_defaults_below_the_file(write: Any) -> None:
    file = write("[generation]\ntop_k = 5\n")
    generation = load_settings(environ={}, file=file, defaults={"generation": TERMINAL_GENERATION}).generation
    assert (generation.max_tokens, generation.temperature, generation.top_p, generation.top_k) == (100, 0.7, 0.9, 5)


def test_flags_beat_environment_beats_file_beats_defaults(write: Any) -> None:
    file = write("[server]\nport = 1\nhost = 'file'\nmax_models = 7\n")
    environ = {"BLAZR_SERVER_PORT": "2", "BLAZR_SERVER_HOST": "environment"}
    server = load_settings({("server", "port"): 3}, file=file, environ=environ).server
    assert (server.port, server.host, server.max_models) == (3, "environment", 7)


def test_the_user_file_is_read_when_it_exists(tmp_path: Path) -> None:
    path = tmp_path / "home" / ".blazr" / "config.toml"
    path.parent.mkdir(parents=True)
    path.write_text("[server]\nport = 4242\n")
    settings = load_settings(environ={})
    assert settings.server.port == 4242
    assert settings.source == path


def test_short_environment_names(tmp_path: Path) -> None:
    settings = load_settings(environ={"BLAZR_MODEL_DIR": "/m", "BLAZR_API_KEY": "secret", "BLAZR_LOG": "debug"})
    assert settings.inference.model_dir == "/m"
    assert settings.server.api_keys == ("secret",)


def test_an_empty_variable_is_not_set() -> None:
    assert load_settings(environ={"BLAZR_API_KEY": "", "BLAZR_SERVER_PORT": ""}).server.api_keys == ()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[server]\nprot = 1\n", r"config\.toml: unknown key server\.prot; did you mean port\?"),
        ("[sever]\nport = 1\n", r"unknown section \[sever\]; did you mean server\?"),
        ("port = 1\n", r"unknown section \[port\]"),
        ("server = 1\n", r"server must be a table"),
        ("[server]\nport = \n", r"not valid TOML: .*line 2"),
        ("[server]\nport = 'x'\n", r"server\.port must be a whole number, not 'x'"),
        ("[server]\nport = 70000\n", r"server\.port must be between 0 and 65535"),
        ("[server]\nport = true\n", r"server\.port must be a whole number"),
        ("[server]\ncors_enabled = 1\n", r"server\.cors_enabled must be true or false"),
        ("[generation]\ntemperature = nan\n", r"generation\.temperature must be a finite number"),
        ("[generation]\ntop_p = 1.5\n", r"generation\.top_p must be between 0 and 1"),
        ("[generation]\nstop_sequences = 'x,'\n", r"generation\.stop_sequences must be a text that is not empty"),
        ("[generation]\nlogit_bias = {a = 1}\n", r"generation\.logit_bias must be a whole number"),
        ("[inference]\ndevice = 'tpu'\n", r"inference\.device must be one of cpu"),
        ("[server]\nmemory_budget = 'lots'\n", r"server\.memory_budget must be a size such as"),
        ("[server]\nkeep_alive = 'soon'\n", r"server\.keep_alive must be a time such as"),
        ("[server]\ntls_cert = 'a'\n", r"server\.tls_cert and server\.tls_key .* needed together"),
    ],
)
def test_mistakes_in_a_file_are_named(write: Any, text: str, message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        load_settings(file=write(text), environ={})


def test_mistakes_in_the_environment_are_named() -> None:
    with pytest.raises(SettingsError, match=r"environment variable BLAZR_SERVER_PRT: unknown key server\.prt"):
        load_settings(environ={"BLAZR_SERVER_PRT": "1"})
    with pytest.raises(SettingsError, match=r"environment variable BLAZR_SERVER_PORT: .*not 'abc'"):
        load_settings(environ={"BLAZR_SERVER_PORT": "abc"})


def test_a_wrong_key_is_never_shown() -> None:
    with pytest.raises(SettingsError) as caught:
        load_settings(environ={"BLAZR_API_KEY": "s3cret,"})
    assert "s3cret" not in str(caught.value)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="cannot read configuration file"):
        load_settings(file=tmp_path / "none.toml", environ={})
    (tmp_path / "latin.toml").write_bytes(b"[server]\nhost = '\xe9'\n")
    with pytest.raises(SettingsError, match=r"not UTF-8 text \(at line 2\)"):
        load_settings(file=tmp_path / "latin.toml", environ={})
    (tmp_path / "deep.toml").write_text("x = " + "[" * 5000)
    with pytest.raises(SettingsError, match="not valid TOML"):
        load_settings(file=tmp_path / "deep.toml", environ={})


@pytest.mark.parametrize(
    ("text", "value"), [("512M", 512 << 20), ("8G", 8 << 30), ("1.5k", 1536), ("7", 7), ("2 GiB", 2 << 30)]
)
def test_sizes(text: str, value: int) -> None:
    assert load_settings(environ={"BLAZR_SERVER_MEMORY_BUDGET": text}).server.memory_budget == value


@pytest.mark.parametrize(
    ("text", "value"), [("0", 0.0), ("-1", math.inf), ("30s", 30.0), ("5m", 300.0), ("2h", 7200.0), ("1.5", 1.5)]
)
def test_times(text: str, value: float) -> None:
    assert load_settings(environ={"BLAZR_SERVER_KEEP_ALIVE": text}).server.keep_alive == value


def test_lists_and_tables_from_the_environment() -> None:
    environ = {
        "BLAZR_SERVER_CORS_ORIGINS": "https://a.example, https://b.example",
        "BLAZR_GENERATION_STOP_SEQUENCES": '["a, b", "\\n"]',
        "BLAZR_GENERATION_LOGIT_BIAS": '{"7": -100}',
    }
    settings = load_settings(environ=environ)
    assert settings.server.cors_origins == ("https://a.example", "https://b.example")
    assert settings.generation.stop_sequences == ("a, b", "\n")
    assert settings.generation.logit_bias == {7: -100.0}


@pytest.mark.parametrize("section", SECTIONS)
def test_every_key_has_an_environment_variable_that_takes_its_default(section: str) -> None:
    for field in dataclasses.fields(SECTIONS[section]):
        default = getattr(SECTIONS[section](), field.name)
        if isinstance(default, str | int | float) and not isinstance(default, bool):
            text = "-1" if default == math.inf else str(default)
            loaded = load_settings(environ={environment_name(section, field.name): text})
            assert getattr(getattr(loaded, section), field.name) == default, field.name


def test_generation_settings_are_sampling_parameters() -> None:
    from boostr.generate.params import SamplingParams

    settings = load_settings({("generation", "stop_sequences"): ("x",)}, environ={})
    params = SamplingParams(**settings.generation.sampling())
    assert params.stop == ("x",)
    assert params.max_tokens == 256
