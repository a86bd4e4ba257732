"""The fingerprint of a batch: the same for the same canonical rows under the same declaration, in whatever order.

Each row's hashes, its applied timestamp and its tie-break are mixed into two words of 64 bits, and the words added,
so that a batch is a multiset and memory stays bounded. What is mixed are digests already: the mixing need only bind the
parts of a row together, for which multiplications do.
"""

from __future__ import annotations

import hashlib
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from xts_pipeline import hashing
from xts_pipeline.metadata import SourceModel

Words: TypeAlias = np.ndarray[tuple[int, ...], np.dtype[np.uint64]]

_WEIGHTS = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0x6A09E667F3BCC909))  # odd: parts of 1.618... and the root of 2


class Fingerprint:
    """Adds up the rows of one batch."""

    def __init__(self) -> None:
        self._sum = np.zeros(len(_WEIGHTS), dtype=np.uint64)
        self._count = 0
        self._rejected = 0

    def add(self, source: SourceModel, staged: pa.Table) -> None:
        """Take in staged rows: their hash keys, hashdiffs, applied timestamps and tie-break."""
        if not staged.num_rows:
            return
        parts = [_words(staged.column(hub.staged_hash_key)) for hub in source.hubs]
        parts += [_words(staged.column(satellite.hashdiff)) for satellite in source.satellites]
        parts.append(staged.column("dv_applied_timestamp").cast(pa.int64()).to_numpy().view(np.uint64)[:, None])
        if source.declaration.tie_break:
            text = hashing.canonical_text(staged.column(source.declaration.tie_break))
            parts.append(_words(hashing.digest(hashing.joined_text([text]), "sha256")))
        words = [word for part in parts for word in part.T]
        self._sum += np.array([_mixed(words, weight).sum(dtype=np.uint64) for weight in _WEIGHTS], np.uint64)
        self._count += staged.num_rows

    def add_rejected(self, row_json: str) -> None:
        """Take in a row that was kept out."""
        digest = hashlib.sha256(row_json.encode()).digest()
        self._rejected = (self._rejected + int.from_bytes(digest, "little")) % 2**256

    def hexdigest(self, source: SourceModel) -> str:
        """The fingerprint: 64 hex digits."""
        whole = hashlib.sha256(self._sum.astype("<u8").tobytes())
        whole.update(self._count.to_bytes(8, "little"))
        whole.update(self._rejected.to_bytes(32, "little"))
        whole.update(source.load_relevant().encode())
        return whole.hexdigest()


def _mixed(words: list[Words], weight: np.uint64) -> Words:
    """One word for each row of words: it takes in every word in turn, and is stirred in between.

    Wraps around at 64 bits. What a word adds depends on its place and on the words before, so that rows that exchange
    their words come out differently.
    """
    mixed = np.full(len(words[0]), weight)
    for word in words:
        mixed ^= word * weight
        _stir(mixed)
    return mixed


def _stir(words: Words) -> None:
    """Let every bit of a word depend on every other, and lose none (the finalizer of SplitMix64)."""
    words ^= words >> np.uint64(30)
    words *= np.uint64(0xBF58476D1CE4E5B9)
    words ^= words >> np.uint64(27)
    words *= np.uint64(0x94D049BB133111EB)
    words ^= words >> np.uint64(31)


def _words(values: pa.Array | pa.ChunkedArray) -> Words:
    """Digests as a matrix of words of 64 bits, a row each; a 20-byte digest is filled up with zeros."""
    array = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
    width = array.type.byte_width
    whole = np.frombuffer(array.buffers()[1], dtype=np.uint8)
    digests = whole[array.offset * width : (array.offset + len(array)) * width].reshape(len(array), width)
    filled = np.pad(digests, ((0, 0), (0, -width % 8)))
    return np.ascontiguousarray(filled).view("<u8")
