"""The files that a source's declared path stands for: which are there, which partition each is, what each holds."""

from __future__ import annotations

import glob
import hashlib
import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path

from xts_pipeline.errors import DeliveryError
from xts_pipeline.staging.stage import checked_partition

PLACEHOLDER = "{partition}"


@dataclass(frozen=True)
class DeliveredFile:
    """One file, and what the file system says of it."""

    partition: str
    path: Path
    state: str  # changes whenever the file, or a link of its name, is written to: size, times, inode
    written_at: float  # seconds since 1970


@dataclass(frozen=True)
class FoundFiles:
    """What is there, by partition key as text, and what has no name for a partition."""

    files: tuple[DeliveredFile, ...]
    misnamed: tuple[str, ...]  # each with what is wrong with it


def find_files(source: str, path: str) -> FoundFiles:
    """The files that `path` stands for, `{partition}` in it being any text without a slash.

    Files whose names begin with a dot, which tools write beside a file that is not complete yet, are not among them.
    """
    pattern = _pattern(path)
    files: dict[str, DeliveredFile] = {}
    misnamed: list[str] = []
    for name in sorted(glob.glob("*".join(glob.escape(part) for part in path.split(PLACEHOLDER)))):
        match = pattern.fullmatch(name)
        if match is None:  # it holds two partitions, where a path names the partition twice
            continue
        try:
            partition = checked_partition(source, match["partition"]) or ""
        except DeliveryError as error:
            misnamed.append(f"{name}: {error}")
            continue
        if (file := file_of(partition, name)) is not None:
            files[partition] = file
    return FoundFiles(tuple(files[partition] for partition in sorted(files)), tuple(misnamed))


def _pattern(path: str) -> re.Pattern[str]:
    first, *rest = (re.escape(part) for part in path.split(PLACEHOLDER))
    return re.compile(first + "(?P<partition>[^/]+)" + "(?P=partition)".join(rest), re.DOTALL)


def file_of(partition: str, path: str) -> DeliveredFile | None:
    """One file as the file system has it; None when it is gone, or a folder."""
    try:
        found, link = os.stat(path), os.lstat(path)
    except OSError:
        return None
    if not stat.S_ISREG(found.st_mode):
        return None
    state = f"{found.st_size} {found.st_mtime_ns} {found.st_ctime_ns} {found.st_ino}"
    if stat.S_ISLNK(link.st_mode):  # which may lead to another file and back again, neither of them written to
        state += f" {link.st_ctime_ns} {link.st_ino}"
    return DeliveredFile(partition, Path(path), state, found.st_mtime)


def digest_of(file: DeliveredFile) -> str | None:
    """SHA-256 of what the file holds; None when it was written to meanwhile. OSError when it cannot be read."""
    with file.path.open("rb") as opened:
        digest = hashlib.file_digest(opened, "sha256").hexdigest()
    return digest if file_of(file.partition, str(file.path)) == file else None


def is_settled(file: DeliveredFile, settle: float, now: float) -> bool:
    """Whether nobody wrote to a file of late; a time of writing in the future is another machine's clock."""
    return not now - settle < file.written_at <= now + settle
