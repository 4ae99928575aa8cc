"""Settings from flags, environment, a TOML file and defaults, in that order of precedence. Knows no key by name.

Every mistake is a SettingsError that names the key and where it stood: a misspelt key that is ignored costs an evening.
"""

from __future__ import annotations

import dataclasses
import difflib
import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from blazr.config.settings import SECTIONS, Settings
from blazr.errors import SettingsError

# Names that are older than the BLAZR_<SECTION>_<KEY> scheme, or shorter.
ENVIRONMENT_ALIASES = {"BLAZR_MODEL_DIR": ("inference", "model_dir"), "BLAZR_API_KEY": ("server", "api_keys")}
MAX_FILE_BYTES = 1 << 20

Values = dict[str, dict[str, Any]]


def load_settings(
    flags: Mapping[tuple[str, str], object] | None = None,
    *,
    file: str | Path | None = None,
    environ: Mapping[str, str] | None = None,
    defaults: Mapping[str, Mapping[str, Any]] | None = None,
) -> Settings:
    """Merges all sources. `flags` maps (section, key) to a value, None meaning not given.

    `file` None reads ~/.blazr/config.toml when it exists; `defaults` replaces built-in defaults by section and key.
    Raises SettingsError for an unknown key, a value out of range, or a file that cannot be read.
    """
    environ = os.environ if environ is None else environ
    path = _config_path(file)
    values: Values = {section: dict((defaults or {}).get(section, {})) for section in SECTIONS}
    if path is not None:
        _merge_file(values, path)
    _merge_environment(values, environ)
    for (section, key), value in (flags or {}).items():
        if value is not None:
            values[section][key] = _convert(section, key, value, f"flag --{key.replace('_', '-')}")
    built = {section: cls(**values[section]) for section, cls in SECTIONS.items()}
    _check_together(built["server"])
    return Settings(**built, source=path)


def default_config_path() -> Path:
    """The file that is read when none is named."""
    return Path.home() / ".blazr" / "config.toml"


def environment_name(section: str, key: str) -> str:
    """The environment variable of a key: BLAZR_SERVER_PORT for server.port."""
    return f"BLAZR_{section}_{key}".upper()


def _config_path(file: str | Path | None) -> Path | None:
    if file is not None:
        return Path(file)
    path = default_config_path()
    return path if path.is_file() else None


def _merge_file(values: Values, path: Path) -> None:
    for section, table in _read_toml(path).items():
        if section not in SECTIONS:
            raise SettingsError(f"{path}: unknown section [{section}]{_suggest(section, SECTIONS)}")
        if not isinstance(table, dict):
            raise SettingsError(f"{path}: {section} must be a table, written as [{section}]")
        for key, value in table.items():
            values[section][key] = _convert(section, key, value, str(path))


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as stream:
            content = stream.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise SettingsError(f"cannot read configuration file {path}: {error.strerror}") from error
    if len(content) > MAX_FILE_BYTES:
        raise SettingsError(f"configuration file {path} is larger than {MAX_FILE_BYTES} bytes")
    try:
        return tomllib.loads(content.decode("utf-8"))
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise SettingsError(f"{path} is not UTF-8 text (at line {line})") from error
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise SettingsError(f"{path} is not valid TOML: {error}") from error


def _merge_environment(values: Values, environ: Mapping[str, str]) -> None:
    for name, value in sorted(environ.items()):
        section, key = ENVIRONMENT_ALIASES.get(name) or _split_environment_name(name)
        if section and value:
            values[section][key] = _convert(section, key, value, f"environment variable {name}")


def _split_environment_name(name: str) -> tuple[str, str]:
    for section in SECTIONS:
        prefix = f"BLAZR_{section.upper()}_"
        if name.startswith(prefix):
            return section, name.removeprefix(prefix).lower()
    return "", ""


def _convert(section: str, key: str, value: object, where: str) -> Any:
    fields = {field.name: field for field in dataclasses.fields(SECTIONS[section])}
    if key not in fields:
        raise SettingsError(f"{where}: unknown key {section}.{key}{_suggest(key, fields)}")
    try:
        return fields[key].metadata["convert"](value)
    except ValueError as error:
        shown = "" if section == "server" and key == "api_keys" else f", not {value!r:.80}"
        raise SettingsError(f"{where}: {section}.{key} {error}{shown}") from None


def _suggest(name: str, known: Mapping[str, object]) -> str:
    close = difflib.get_close_matches(name, known, n=1)
    return f"; did you mean {close[0]}?" if close else f"; known are {', '.join(known)}"


def _check_together(server: Any) -> None:
    if (server.tls_cert is None) != (server.tls_key is None):
        raise SettingsError("server.tls_cert and server.tls_key (--tls-cert, --tls-key) are needed together")
