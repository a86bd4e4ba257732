r"""Hash keys and hashdiffs: canonical text of every value, joined without ambiguity, hashed once for every engine.

Two rows have one hash exactly when their canonical texts are the same, on any machine and for any warehouse. Values
are worked on as whole Arrow arrays; only distinct non-ASCII texts pass through Python. Few digests at a time are
made by hashlib; many by DuckDB, in memory and for every engine alike, which hashes the same bytes in less time.

The joining follows the common Data Vault rule, in AutomateDV's spelling: columns in alphabetical order, `||` between
fields, `^^` for NULL. One thing is added: `\`, `|` and `^` inside a value are escaped with `\`, so that different rows
always differ while ordinary values stay as they are everywhere else.
"""

from __future__ import annotations

import hashlib
import os
import unicodedata
from binascii import unhexlify
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from itertools import pairwise
from typing import Any, Literal

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

Algorithm = Literal["sha256", "sha1"]

SEPARATOR = "||"
NULL_TEXT = "^^"

_DIGEST_SIZES: dict[str, int] = {"sha256": 32, "sha1": 20}
_MANY = 1_000  # texts from which on a query costs less than hashlib
_STRING_LIMIT = 2**31 - 1
_LARGE = pa.large_string()
_TEXT_TYPES = (pa.string(), _LARGE)
_UTC_ZONES = frozenset({"UTC", "Etc/UTC", "Z", "+00:00", "+0000", "GMT", "Zulu"})
_DECIMALS = {32: pa.decimal32, 64: pa.decimal64, 128: pa.decimal128, 256: pa.decimal256}
_nfc = partial(unicodedata.normalize, "NFC")
_HEX_PAIRS = np.frombuffer(bytes(range(256)).hex().encode(), dtype=np.uint16)

# Letters of Unicode 14.0 that a later version gave a capital (found by comparing Python 3.11's table with Arrow 26's).
# Left as they are, so that a newer Python upper-cases a business key as Python 3.11 does.
_CAPITAL_CAME_LATER = frozenset("\u019b\u0264\u0277\u027c\ua7d3\ua7d5\uab4b\uab4c")


def zero_key(algorithm: Algorithm) -> bytes:
    """Return the hash key of the ghost record: zero bytes, as many as a digest has (32 for sha256, 20 for sha1).

    Raises ValueError for an unknown algorithm.
    """
    return bytes(_digest_size(algorithm))


def canonical_text(values: pa.Array, *, business_key: bool = False) -> pa.StringArray:
    """Return the canonical text of each value; which rule applies is decided by the Arrow type, and NULL stays NULL.

    - text: Unicode NFC, trailing U+0020 removed, leading ones kept; with `business_key` also upper-cased as Python 3.11
      does, then NFC again (upper-casing U+0390 leaves a composable sequence behind, for example)
    - booleans `true` and `false`; integers plain; decimals at their type's scale, in fixed notation, without `-0`
    - dates `YYYY-MM-DD`; timestamps, naive or UTC, `YYYY-MM-DDTHH:MM:SS.ffffff`: what is finer than a microsecond is
      cut off (towards the past), since no table of the vault holds it
    - bytes in lower hex; binary floats as Python's shortest repr that round-trips in their width, `-0.0` as `0.0`

    `values` is an Array or ChunkedArray of n values. The result has n values and type `string`, or `large_string` where
    the text passes 2 GiB. Raises TypeError, naming the type, for every other type (a zoned timestamp that is not UTC
    and a dictionary included); ValueError for a date or timestamp outside the years 1 to 9999.
    """
    array = _one_array(values)
    texts = _rule_for(array.type, business_key)(array)
    return texts if texts.nbytes > _STRING_LIMIT else texts.cast(pa.string())


def joined_text(fields: Sequence[pa.Array]) -> pa.Array:
    r"""Join canonical texts to one text a row: `\`, `|`, `^` escaped with `\`, NULL as `^^`, `||` between fields.

    The result determines the row: for a given number of fields no two different rows have one text, since an unescaped
    `|` is always a separator and an unescaped `^` always NULL. `fields` are text arrays of n values each; the result is
    a `large_string` array of n values, none of them NULL. Raises ValueError without fields or when their lengths
    differ, TypeError for a field that is no text.
    """
    if not fields:
        raise ValueError("a hash needs at least one field")
    texts = [_escaped(_large_text(_one_array(field))) for field in fields]
    lengths = {len(text) for text in texts}
    if len(lengths) > 1:
        raise ValueError(f"fields of one hash differ in length: {sorted(lengths)}")
    join = pc.binary_join_element_wise
    return join(*texts, pa.scalar(SEPARATOR, _LARGE), null_handling="replace", null_replacement=NULL_TEXT)


def digest(texts: pa.Array, algorithm: Algorithm) -> pa.FixedSizeBinaryArray:
    """Return the hash of each text's UTF-8 bytes, as n values of `fixed_size_binary` (32 or 20 bytes), none NULL.

    No Python string is made. Raises ValueError for an unknown algorithm and for a NULL among the texts (`joined_text`
    gives none), TypeError for an array that is no text.
    """
    size = _digest_size(algorithm)
    array = _large_text(_one_array(texts))
    if array.null_count:
        raise ValueError(f"{array.null_count} of {len(array)} texts are NULL and have no hash")
    digests = _digests_of_many(array, algorithm) if len(array) >= _MANY else _digests_of_few(array, algorithm)
    return pa.FixedSizeBinaryArray.from_buffers(pa.binary(size), len(array), [None, pa.py_buffer(digests)])


def _digests_of_few(texts: pa.Array, algorithm: Algorithm) -> bytes:
    new_hash = partial(getattr(hashlib, algorithm), usedforsecurity=False)
    offsets, content = _offsets_and_content(texts)
    return b"".join([new_hash(content[begin:end]).digest() for begin, end in pairwise(offsets.tolist())])


def _digests_of_many(texts: pa.Array, algorithm: Algorithm) -> bytes:
    with _engine(os.getpid()).cursor() as engine:
        engine.register("texts", pa.table({"text": texts}))
        hexes = engine.sql(f"select {algorithm}(text) as hex from texts").to_arrow_table().column("hex")
    return unhexlify(b"".join([_bytes_of(_large_text(chunk)) for chunk in hexes.chunks]))


@cache
def _engine(process: int) -> duckdb.DuckDBPyConnection:
    """A database in memory that hashes, one a process: it does not outlive a fork."""
    return duckdb.connect()


def hash_key(
    columns: Mapping[str, pa.Array], *, algorithm: Algorithm, prefix: Sequence[str] = ()
) -> pa.FixedSizeBinaryArray:
    """Return a hub's hash keys: its business key columns in alphabetical order, upper-cased, behind the prefix.

    `columns` gives n values for each business key column; their order in the mapping does not matter. `prefix` holds
    the tenant and the business key collision code where they are configured, in that order; they are treated as
    business key text. Returns n digests. Raises as `canonical_text`, `joined_text` and `digest` do; ValueError
    without columns.
    """
    return link_hash_key([columns], algorithm=algorithm, prefix=prefix)


def link_hash_key(
    hubs: Sequence[Mapping[str, pa.Array]], *, algorithm: Algorithm, prefix: Sequence[str] = ()
) -> pa.FixedSizeBinaryArray:
    """Return a link's hash keys, made of its hubs' business keys: hubs as declared, columns alphabetical in each.

    As the hubs keep their order, a link of a hub to itself keeps its sides. `prefix` stands once, in front of all
    hubs. Returns n digests. Raises as `hash_key` does; ValueError without hubs or for a hub without columns.
    """
    if not hubs or not all(hubs):
        raise ValueError("a hash key needs at least one business key column of every hub")
    keys = [canonical_text(values, business_key=True) for hub in hubs for values in _alphabetical(hub)]
    before = canonical_text(pa.array(prefix, pa.string()), business_key=True)
    repeated = [pa.repeat(text.cast(_LARGE), len(keys[0])) for text in before]
    return digest(joined_text([*repeated, *keys]), algorithm)


def hashdiff(columns: Mapping[str, pa.Array], *, algorithm: Algorithm) -> pa.FixedSizeBinaryArray:
    """Return the hashdiffs of a satellite's payload: its columns in alphabetical order, case kept.

    `columns` gives n values for each column; their order in the mapping does not matter. Returns n digests. Raises as
    `canonical_text`, `joined_text` and `digest` do; ValueError without columns.
    """
    return digest(joined_text([canonical_text(values) for values in _alphabetical(columns)]), algorithm)


def unassigned(values: pa.Array) -> pa.BooleanArray:
    """Return true where a text holds a code point this Python's Unicode does not know (category Cn, or a surrogate).

    Such a text must not be hashed. Unicode promises that the NFC of assigned characters never changes; a code point
    without meaning today may become a combining mark or a letter with a capital tomorrow, and the same text would then
    have another hash after an upgrade of Python. Python 3.11 knows Unicode 14.0; newer ones accept more texts, and hash
    those that were accepted before as before.

    `values` is a text array of n values; the result has n values and no NULL (false for NULL). Raises TypeError for an
    array that is no text.
    """
    texts = _large_text(_one_array(values))
    foreign = _non_ascii(texts)
    if not pc.any(foreign).as_py():
        return foreign
    distinct = pc.dictionary_encode(texts.filter(foreign))
    categories = [{unicodedata.category(char) for char in text} for text in distinct.dictionary.to_pylist()]
    verdicts = pa.array([not found.isdisjoint(("Cn", "Cs")) for found in categories], pa.bool_())
    return pc.replace_with_mask(foreign, foreign, verdicts.take(distinct.indices))


def _digest_size(algorithm: Algorithm) -> int:
    if algorithm not in _DIGEST_SIZES:
        raise ValueError(f"unknown hash algorithm {algorithm!r}: choose one of {', '.join(_DIGEST_SIZES)}")
    return _DIGEST_SIZES[algorithm]


def _alphabetical(columns: Mapping[str, pa.Array]) -> list[pa.Array]:
    return [columns[name] for name in sorted(columns, key=lambda name: (name.lower(), name))]


def _one_array(values: pa.Array) -> pa.Array:
    """Make one array of a chunked one; text and bytes with 64-bit offsets, as the chunks together may pass 2 GiB."""
    if not isinstance(values, pa.ChunkedArray):
        return values
    wider = {pa.string(): _LARGE, pa.binary(): pa.large_binary()}
    return values.cast(wider.get(values.type, values.type)).combine_chunks()


def _large_text(array: pa.Array) -> pa.Array:
    if array.type not in (*_TEXT_TYPES, pa.null()):
        raise TypeError(f"text expected, found an array of type {array.type}")
    return array.cast(_LARGE)


def _offsets_and_content(array: pa.Array) -> tuple[np.ndarray[Any, np.dtype[np.int64]], memoryview]:
    """Return the n + 1 byte offsets of a `large_string` or `large_binary` array, and the bytes they point into."""
    _, offsets, content = array.buffers()
    view = memoryview(content) if content is not None else memoryview(b"")
    if not len(array):
        return np.zeros(1, np.int64), view
    return np.frombuffer(offsets, np.int64, count=len(array) + 1, offset=8 * array.offset), view


def _rule_for(kind: pa.DataType, business_key: bool) -> Callable[[pa.Array], pa.Array]:
    """Choose how values of an Arrow type become canonical text (as `large_string`)."""
    types = pa.types
    is_plain = types.is_null(kind) or types.is_boolean(kind) or types.is_integer(kind)
    is_bytes = types.is_binary(kind) or types.is_large_binary(kind) or types.is_fixed_size_binary(kind)
    rules: list[tuple[bool, Callable[[pa.Array], pa.Array]]] = [
        (kind in _TEXT_TYPES, partial(_unpadded_text, business_key=business_key)),
        (is_plain, partial(pc.cast, target_type=_LARGE)),
        (types.is_decimal(kind), _decimal_text),
        (types.is_date(kind), _date_text),
        (types.is_timestamp(kind) and (kind.tz is None or kind.tz in _UTC_ZONES), _timestamp_text),
        (is_bytes, _hex_text),
        (types.is_float32(kind) or types.is_float64(kind), _float_text),
    ]
    chosen = next((rule for applies, rule in rules if applies), None)
    if chosen is None:
        raise TypeError(f"no canonical text is defined for values of type {kind}")
    return chosen


def _unpadded_text(array: pa.Array, business_key: bool) -> pa.Array:
    """Normalise text; each distinct non-ASCII one by Python's tables, as Arrow's and DuckDB's are of other versions."""
    texts = array.cast(_LARGE)
    results, rule = (pc.ascii_upper(texts), _upper_nfc) if business_key else (texts, _nfc)
    foreign = _non_ascii(texts)
    if pc.any(foreign).as_py():
        distinct = pc.dictionary_encode(texts.filter(foreign))
        ruled = pa.array([rule(text) for text in distinct.dictionary.to_pylist()], _LARGE)
        results = pc.replace_with_mask(results, foreign, ruled.take(distinct.indices))
    return pc.ascii_rtrim(results, " ") if _any_ends_with_blank(results) else results


def _upper_nfc(text: str) -> str:
    return _nfc("".join(char if char in _CAPITAL_CAME_LATER else char.upper() for char in _nfc(text)))


def _non_ascii(texts: pa.Array) -> pa.Array:
    """True where a text holds more than ASCII; whole columns that do not, which are most, are seen at once."""
    if _bytes_of(texts).isascii():
        return pa.repeat(pa.scalar(False), len(texts))
    return pc.fill_null(pc.invert(pc.string_is_ascii(texts)), False)


def _bytes_of(texts: pa.Array) -> bytes:
    """The UTF-8 of all texts of an array, one after the other."""
    offsets, content = _offsets_and_content(texts)
    return bytes(content[offsets[0] : offsets[-1]])


def _any_ends_with_blank(texts: pa.Array) -> bool:
    offsets, content = _offsets_and_content(texts)
    filled = offsets[1:][offsets[1:] > offsets[:-1]]
    return bool((np.frombuffer(content, np.uint8)[filled - 1] == ord(" ")).any()) if len(filled) else False


def _escaped(texts: pa.Array) -> pa.Array:
    whole = _bytes_of(texts)
    if not any(special in whole for special in (b"\\", b"|", b"^")):
        return texts
    special = pc.fill_null(pc.match_substring_regex(texts, r"[\\|^]"), False)
    if not pc.any(special).as_py():
        return texts
    escaped = pc.replace_substring_regex(texts.filter(special), r"([\\|^])", r"\\\1")
    return pc.replace_with_mask(texts, special, escaped)


def _decimal_text(array: pa.Array) -> pa.Array:
    """Write the unscaled integer and place the point by hand: Arrow writes small decimals with an exponent."""
    if array.type.scale < 0:
        array = array.cast(pa.decimal256(76, 0))
    scale, whole_type = array.type.scale, _DECIMALS[array.type.bit_width](array.type.precision, 0)
    integers = pa.Array.from_buffers(whole_type, len(array), array.buffers(), offset=array.offset)
    unscaled = integers.cast(_LARGE)
    if scale == 0:
        return unscaled
    sign = pc.if_else(pc.starts_with(unscaled, "-"), "-", "").cast(_LARGE)
    digits = pc.ascii_lpad(pc.ascii_ltrim(unscaled, "-"), scale + 1, "0")
    whole, part = pc.utf8_slice_codeunits(digits, 0, -scale), pc.utf8_slice_codeunits(digits, -scale)
    pointed = pc.binary_join_element_wise(whole, part, pa.scalar(".", _LARGE))
    return pc.binary_join_element_wise(sign, pointed, pa.scalar("", _LARGE))


def _date_text(array: pa.Array) -> pa.Array:
    return _with_writable_years(array.cast(pa.date32())).cast(_LARGE)


def _timestamp_text(array: pa.Array) -> pa.Array:
    moments = array.view(pa.timestamp(array.type.unit))
    if array.type.unit == "ns":
        moments = pc.floor_temporal(moments, unit="microsecond")
    texts = _with_writable_years(moments.cast(pa.timestamp("us"))).cast(_LARGE)
    return pc.utf8_replace_slice(texts, 10, 11, "T")


def _with_writable_years(array: pa.Array) -> pa.Array:
    years = pc.min_max(pc.year(array)).as_py()
    if years["min"] is not None and not 1 <= years["min"] <= years["max"] <= 9999:
        raise ValueError(f"years from {years['min']} to {years['max']} found; a date must lie in the years 1 to 9999")
    return array


def _hex_text(array: pa.Array) -> pa.Array:
    """Look every byte up in a table of hex pairs; the text's offsets are twice those of the bytes."""
    offsets, content = _offsets_and_content(array.cast(pa.large_binary()))
    first, last = int(offsets[0]), int(offsets[-1])
    text = _HEX_PAIRS[np.frombuffer(content[first:last], np.uint8)]
    hexes = pa.LargeStringArray.from_buffers(len(array), pa.py_buffer((offsets - first) * 2), pa.py_buffer(text))
    return pc.if_else(array.is_valid(), hexes, pa.scalar(None, _LARGE))


def _float_text(array: pa.Array) -> pa.Array:
    """Use Python's repr of each distinct value; a float32 is first read back from its own, shorter, digits."""
    positive_zero = pc.add(array, pa.scalar(0.0, array.type))
    if pa.types.is_float32(array.type):
        positive_zero = positive_zero.cast(_LARGE).cast(pa.float64())
    distinct = pc.dictionary_encode(positive_zero)
    texts = pa.array([repr(value) for value in distinct.dictionary.to_pylist()], _LARGE)
    return texts.take(distinct.indices)
