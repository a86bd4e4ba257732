"""Bytes of a text file, decompressed and checked on the way: gzip, UTF-8, and files that are no text at all."""

from __future__ import annotations

import codecs
import gzip
import io
import zlib
from pathlib import Path
from types import TracebackType
from typing import IO

from xts_pipeline.errors import DeliveryError

_GZIP_MAGIC = b"\x1f\x8b"
_PARQUET_MAGIC = b"PAR1"
_SNIFFED_BYTES = _PIECE_BYTES = 65_536


class CheckedStream:
    """A binary stream over a text file: decompressed, without byte order mark, certain to be UTF-8.

    `read` raises DeliveryError, naming the file and about which row, when gzip data is damaged or cut off, or when
    the text is not UTF-8. `tail` is added behind the last byte of the file.
    """

    def __init__(self, name: str, raw: IO[bytes] | gzip.GzipFile, tail: bytes = b"") -> None:
        self._name = name
        self._raw = raw
        self._tail = tail
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._lines = 0
        self._started = False
        self._ended = False

    @property
    def closed(self) -> bool:
        """Whether the file is closed."""
        return self._raw.closed

    def close(self) -> None:
        """Close the file."""
        self._raw.close()

    def readable(self) -> bool:
        """Tell pyarrow and io that this stream can be read."""
        return True

    def __enter__(self) -> CheckedStream:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def read(self, size: int = -1) -> bytes:
        """Return up to `size` bytes (all that is left when negative); less than `size` less the tail at the end."""
        if self._ended:
            return b""
        wanted = size - len(self._tail) if size > len(self._tail) else size
        data = self._raw_bytes(wanted)
        self._ended = wanted < 0 or len(data) < wanted
        if not self._started:
            self._started = True
            if b"\0" in data[:_SNIFFED_BYTES]:
                raise DeliveryError(
                    f"{self._name}: this is not a text file (it holds NUL bytes); a binary file or a UTF-16 one must "
                    "be exported again as UTF-8 text"
                )
            data = data.removeprefix(codecs.BOM_UTF8)
        self._check_utf8(data, final=self._ended)
        return data + self._tail if self._ended else data

    def _raw_bytes(self, size: int) -> bytes:
        """Read exactly `size` bytes, or up to the end."""
        pieces: list[bytes] = []
        missing = size
        try:
            while missing:
                piece = self._raw.read(_PIECE_BYTES if missing < 0 else min(missing, _PIECE_BYTES))
                if not piece:
                    break
                pieces.append(piece)
                missing -= len(piece) if missing > 0 else 0
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            row = self._lines + sum(piece.count(b"\n") for piece in pieces)
            raise DeliveryError(
                f"{self._name}: the gzip data is damaged or cut off after about row {row} ({error}); "
                "transfer the file again"
            ) from error
        return b"".join(pieces)

    def _check_utf8(self, data: bytes, final: bool) -> None:
        pending = len(self._decoder.getstate()[0])
        try:
            self._decoder.decode(data, final)
        except UnicodeDecodeError as error:
            row = max(self._lines + data[: max(error.start - pending, 0)].count(b"\n"), 1)
            byte = error.object[error.start]
            raise DeliveryError(
                f"{self._name}: not valid UTF-8 at about row {row} (byte 0x{byte:02x}); export the file as UTF-8"
            ) from error
        self._lines += data.count(b"\n")


def existing_file(path: Path) -> Path:
    """Return the path when it is a file with content; raises DeliveryError when missing, a folder, or empty."""
    if path.is_dir():
        raise DeliveryError(f"{path}: this is a directory; give the path of one file")
    if not path.exists():
        raise DeliveryError(f"{path}: no such file; check the path")
    try:
        with path.open("rb") as raw:
            first = raw.read(1)
    except OSError as error:
        raise DeliveryError(f"{path}: the file cannot be read ({error.strerror}); check its permissions") from error
    if not first:
        raise DeliveryError(f"{path}: the file is empty (0 bytes), it has not even a header; deliver it again")
    return path


def open_text(path: Path, tail: bytes = b"") -> CheckedStream:
    """Open a text file, plain or gzip (told by its first bytes), for checked reading; `tail` is added at its end.

    Raises DeliveryError when the file is named .gz and is not gzip, or when it is a Parquet file.
    """
    raw = path.open("rb")
    start = raw.read(4)
    raw.seek(0)
    if start.startswith(_GZIP_MAGIC):
        return CheckedStream(str(path), _Gunzipped(raw), tail)
    if path.suffix.lower() == ".gz" or start == _PARQUET_MAGIC:
        raw.close()
        what = "a Parquet file and no text" if start == _PARQUET_MAGIC else "not gzip data"
        raise DeliveryError(f"{path}: this is {what}, whatever its name says; rename it or deliver it again")
    return CheckedStream(str(path), raw, tail)


class _Gunzipped(gzip.GzipFile):
    """A gzip reader that closes the file under it."""

    def __init__(self, raw: IO[bytes]) -> None:
        super().__init__(fileobj=raw, mode="rb")
        self._under = raw

    def close(self) -> None:
        super().close()
        self._under.close()


def lines_of(stream: CheckedStream) -> io.BufferedReader:
    """Return the stream buffered, to be read line by line."""
    return io.BufferedReader(_Raw(stream), buffer_size=1 << 20)


class _Raw(io.RawIOBase):
    """A CheckedStream in the shape that io.BufferedReader wants."""

    def __init__(self, stream: CheckedStream) -> None:
        self._stream = stream

    def readable(self) -> bool:
        return True

    def readinto(self, target: memoryview) -> int:  # type: ignore[override]
        data = self._stream.read(len(target))
        target[: len(data)] = data
        return len(data)
