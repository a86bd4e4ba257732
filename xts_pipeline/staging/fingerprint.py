"""The fingerprint of a batch: the same for the same canonical rows under the same declaration, in whatever order.

Rows are digested one by one and the digests added, so that a batch is a multiset and memory stays bounded.
"""

from __future__ import annotations

import hashlib

import numpy as np
import pyarrow as pa

from xts_pipeline import hashing
from xts_pipeline.metadata import SourceModel


class Fingerprint:
    """Adds up the rows of one batch."""

    def __init__(self) -> None:
        self._sum = np.zeros(4, dtype=np.uint64)
        self._count = 0
        self._rejected = 0

    def add(self, source: SourceModel, staged: pa.Table) -> None:
        """Take in staged rows: their hash keys, hashdiffs, applied timestamps and tie-break."""
        if not staged.num_rows:
            return
        parts = [_bytes(staged.column(hub.staged_hash_key)) for hub in source.hubs]
        parts += [_bytes(staged.column(satellite.hashdiff)) for satellite in source.satellites]
        applied = staged.column("dv_applied_timestamp").cast(pa.int64()).to_numpy()
        parts.append(applied.astype("<i8").view(np.uint8).reshape(staged.num_rows, 8))
        if source.declaration.tie_break:
            text = hashing.canonical_text(staged.column(source.declaration.tie_break))
            parts.append(_bytes(hashing.digest(hashing.joined_text([text]), "sha256")))
        rows = np.concatenate(parts, axis=1)
        width = rows.shape[1]
        flat = rows.tobytes()
        starts = range(0, len(flat), width)
        digests = b"".join(hashlib.sha256(flat[start : start + width]).digest() for start in starts)
        self._sum += np.frombuffer(digests, dtype="<u8").reshape(-1, 4).sum(axis=0, dtype=np.uint64)
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


def _bytes(values: pa.Array | pa.ChunkedArray) -> np.ndarray[tuple[int, int], np.dtype[np.uint8]]:
    """Digests as a matrix of bytes, a row each."""
    array = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
    width = array.type.byte_width
    whole = np.frombuffer(array.buffers()[1], dtype=np.uint8)
    return whole[array.offset * width : (array.offset + len(array)) * width].reshape(len(array), width)
