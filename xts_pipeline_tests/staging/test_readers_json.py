"""JSON lines deliveries: one settled type a column, exact numbers, and lines that are no rows."""

import gzip
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest

from xts_pipeline.errors import DeliveryError
from xts_pipeline.staging.readers import open_delivery


def written(folder: Path, *lines: str | bytes, name: str = "d.jsonl") -> Path:
    path = folder / name
    path.write_bytes(b"\n".join(line.encode() if isinstance(line, str) else line for line in lines))
    return path


def column(path: Path, name: str = "x", chunk_rows: int = 2) -> tuple[pa.DataType, list[object]]:
    chunks = list(open_delivery(path, chunk_rows=chunk_rows).chunks())
    (kind,) = {chunk.table.schema.field(name).type for chunk in chunks}
    return kind, [value for chunk in chunks for value in chunk.table[name].to_pylist()]


def refusal(path: Path) -> str:
    with pytest.raises(DeliveryError) as caught:
        list(open_delivery(path).chunks())
    assert str(path) in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    ("values", "kind", "expected"),
    [
        (["1", "null", "2"], pa.int64(), [1, None, 2]),
        (["true", "null", "false"], pa.bool_(), [True, None, False]),
        (['"a"', '""', "null"], pa.string(), ["a", "", None]),
        (["null", "null"], pa.null(), [None, None]),
        (["1", str(2**63)], pa.decimal128(38, 0), [Decimal(1), Decimal(2**63)]),
        (["1", str(10**38)], pa.string(), ["1", str(10**38)]),
        (["1", "2", '"x"', "true", "2.50", "null"], pa.string(), ["1", "2", "x", "true", "2.50", None]),
        (["1", "true", "2"], pa.string(), ["1", "true", "2"]),
    ],
)
def test_a_column_has_one_type_in_all_chunks(
    tmp_path: Path, values: list[str], kind: pa.DataType, expected: list[object]
) -> None:
    path = written(tmp_path, *(f'{{"x": {value}}}' for value in values))
    assert column(path) == (kind, expected)
    assert open_delivery(path).fractions == frozenset()
    assert open_delivery(path).typed


def test_numbers_with_a_fraction_keep_their_exact_text_and_are_listed(tmp_path: Path) -> None:
    path = written(
        tmp_path, '{"x": 1, "y": 1.5}', '{"x": 2.50, "y": "a"}', '{"x": 1e2}', '{"x": 0.1234567890123456789}'
    )
    assert column(path) == (pa.string(), ["1", "2.50", "1e2", "0.1234567890123456789"])
    assert open_delivery(path).fractions == {"x"}


def test_columns_are_all_keys_in_order_and_a_missing_key_is_null(tmp_path: Path) -> None:
    path = written(tmp_path, '{"b": 1}', "", "  ", '{"a": "x", "b": 2}\r', "", name="d.ndjson")
    delivery = open_delivery(path)
    assert delivery.columns == ("b", "a")
    (chunk,) = delivery.chunks()
    assert chunk.table.to_pylist() == [{"b": 1, "a": None}, {"b": 2, "a": "x"}]
    assert chunk.row_numbers.to_pylist() == [1, 2]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{oops", "not JSON (Expecting property name"),
        ('{"x": 1} {"x": 2}', "not JSON (Extra data"),
        ("[1, 2]", "not a JSON object"),
        ("5", "not a JSON object"),
        ('{"x": 1, "x": 2}', "key 'x' occurs twice"),
        ('{"x": {"y": 1}}', "nested value in column 'x'"),
        ('{"x": [1]}', "nested value in column 'x'"),
        ('{"x": NaN}', "NaN is not JSON"),
        ('{"x": -Infinity}', "-Infinity is not JSON"),
        ('{"x": "\\ud800"}', "column 'x' holds half a character (a lone surrogate)"),
        ('{"\\ud800": 1}', "a key holds half a character"),
        ('{"x": ' + "[" * 100_000, "nested too deep"),
        ('{"x": ' + "9" * 5000 + "}", "not JSON (Exceeds the limit"),
    ],
)
def test_a_line_that_is_no_row_is_malformed_with_its_number(tmp_path: Path, line: str, reason: str) -> None:
    path = written(tmp_path, '{"x": 1}', line, "", '{"x": 2}')
    (chunk,) = open_delivery(path).chunks()
    assert chunk.row_numbers.to_pylist() == [1, 3]
    assert chunk.table.to_pydict() == {"x": [1, 2]}
    (row,) = chunk.malformed
    assert row.row_number == 2
    assert row.text == (line if len(line) <= 500 else line[:500] + "...")
    assert reason in row.reason


def test_a_pair_of_surrogates_is_a_character(tmp_path: Path) -> None:
    assert column(written(tmp_path, '{"x": "\\ud83d\\ude00"}')) == (pa.string(), ["😀"])


def test_byte_order_mark_and_gzip_change_nothing(tmp_path: Path) -> None:
    content = b'\xef\xbb\xbf{"x": "\xc3\xa9"}\n'
    for name in ("d.json", "d.jsonl.gz", "d.json.gz", "d.ndjson.gz"):
        path = tmp_path / name
        path.write_bytes(gzip.compress(content) if name.endswith("gz") else content)
        assert column(path) == (pa.string(), ["é"])


def test_damaged_files_are_refused(tmp_path: Path) -> None:
    assert "empty (0 bytes)" in refusal(written(tmp_path))
    assert "write one object a line" in refusal(written(tmp_path, '[{"x": 1},', '{"x": 2}]'.replace("{", "[1")))
    assert "NUL bytes" in refusal(written(tmp_path, b'{"x":\0'))
    assert "not valid UTF-8 at about row 1" in refusal(written(tmp_path, '{"x": 1}', b'{"x": "\xe9"}'))
    packed = gzip.compress(b"".join(b'{"x": %d}\n' % (n * 7919 % 100_003) for n in range(50_000)))
    path = written(tmp_path, packed[:-2000], name="d.jsonl.gz")
    assert "damaged or cut off after about row" in refusal(path)


def test_names_that_differ_only_by_case_or_are_blank_are_refused(tmp_path: Path) -> None:
    assert "column 'Id' occurs twice (also as 'id'" in refusal(written(tmp_path, '{"id": 1}', '{"Id": 2}'))
    assert "column 2 has no name" in refusal(written(tmp_path, '{"id": 1, "": 2}'))


def test_a_line_without_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("xts_pipeline.staging.readers.json_lines._LONGEST_LINE", 1 << 20)
    assert "row 2 is longer than 1 MiB" in refusal(written(tmp_path, '{"x": 1}', '{"x": "' + "a" * (1 << 20)))
