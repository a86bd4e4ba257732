"""CSV deliveries: what is text, what is NULL, which lines are no rows, and which files are refused."""

import gzip
import random
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from xts_pipeline.errors import DeliveryError
from xts_pipeline.staging.readers import Chunk, MalformedRow, open_delivery


def written(folder: Path, content: bytes | str, name: str = "d.csv") -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def chunks_of(path: Path, chunk_rows: int = 131_072) -> list[Chunk]:
    return list(open_delivery(path, chunk_rows=chunk_rows).chunks())


def rows_of(path: Path) -> list[dict[str, object]]:
    return [row for chunk in chunks_of(path) for row in chunk.table.to_pylist()]


def numbers_of(chunks: list[Chunk]) -> list[int]:
    return [number for chunk in chunks for number in chunk.row_numbers.to_pylist()]


def malformed_of(chunks: list[Chunk]) -> list[MalformedRow]:
    return [row for chunk in chunks for row in chunk.malformed]


def refusal(path: Path, format: str | None = None) -> str:
    with pytest.raises(DeliveryError) as caught:
        list(open_delivery(path, format=format).chunks())
    assert str(path) in str(caught.value)
    return str(caught.value)


def test_every_value_is_text_and_only_an_unquoted_empty_one_is_null(tmp_path: Path) -> None:
    path = written(tmp_path, 'id,name\n007,""\n1,\nNA,NULL\nnull, x \n')
    delivery = open_delivery(path)
    assert (delivery.name, delivery.columns, delivery.typed) == (str(path), ("id", "name"), False)
    (chunk,) = delivery.chunks()
    assert chunk.table.schema == pa.schema([("id", pa.string()), ("name", pa.string())])
    assert chunk.table["id"].to_pylist() == ["007", "1", "NA", "null"]
    assert chunk.table["name"].to_pylist() == ["", None, "NULL", " x "]
    assert chunk.row_numbers == pa.array([1, 2, 3, 4], pa.int64())


def test_quoted_values_may_hold_commas_quotes_and_line_breaks(tmp_path: Path) -> None:
    path = written(tmp_path, '"id","a ""b""\nc"\r\n1,"x,\r\ny ""z"""\r\n')
    assert rows_of(path) == [{"id": "1", 'a "b"\nc': 'x,\r\ny "z"'}]


@pytest.mark.parametrize("name", ["d.csv", "d.csv.gz", "D.CSV.GZ"])
@pytest.mark.parametrize("bom", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("end", [b"", b"\n", b"\r\n", b"\n\n"])
def test_byte_order_mark_compression_and_last_line_break_change_nothing(
    tmp_path: Path, name: str, bom: bytes, end: bytes
) -> None:
    content = bom + "id,name\n1,Zoë".encode() + end
    path = written(tmp_path, gzip.compress(content) if name.lower().endswith("gz") else content, name)
    assert rows_of(path) == [{"id": "1", "name": "Zoë"}]


def test_gzip_is_recognised_without_its_ending_and_in_several_members(tmp_path: Path) -> None:
    path = written(tmp_path, gzip.compress(b"a,b\n1,2\n") + gzip.compress(b"3,4\n"))
    assert [row["a"] for row in rows_of(path)] == ["1", "3"]


def test_rows_with_a_wrong_number_of_fields_are_malformed_with_their_number(tmp_path: Path) -> None:
    chunks = chunks_of(written(tmp_path, 'a,b\n1,2\n\n3\n"x\ny",5\n6,7,8\n9,10\n11\n'), chunk_rows=1)
    assert numbers_of(chunks) == [1, 3, 5]
    assert malformed_of(chunks) == [
        MalformedRow(2, "3", "1 fields, the header has 2"),
        MalformedRow(4, "6,7,8", "3 fields, the header has 2"),
        MalformedRow(6, "11", "1 fields, the header has 2"),
    ]
    assert [row for chunk in chunks for row in chunk.table["a"].to_pylist()] == ["1", "x\ny", "9"]


def test_malformed_rows_keep_their_numbers_over_many_blocks_and_chunks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("xts_pipeline.staging.readers.csv_file._BLOCK_BYTES", 256)
    lines = [f"{n}" if n % 7 == 0 or 300 < n < 400 else f"{n},v" for n in range(1, 1001)]
    chunks = chunks_of(written(tmp_path, "a,b\n" + "\n".join(lines)), chunk_rows=5)
    assert numbers_of(chunks) == [n for n in range(1, 1001) if not (n % 7 == 0 or 300 < n < 400)]
    assert [value for chunk in chunks for value in chunk.table["a"].to_pylist()] == [str(n) for n in numbers_of(chunks)]
    assert [(row.row_number, row.text) for row in malformed_of(chunks)] == [
        (n, str(n)) for n in range(1, 1001) if n % 7 == 0 or 300 < n < 400
    ]
    assert max(chunk.table.num_rows for chunk in chunks) <= 5


def test_only_malformed_rows_are_still_reported(tmp_path: Path) -> None:
    chunks = chunks_of(written(tmp_path, "a,b\n1\n2\n"))
    assert [row.row_number for row in malformed_of(chunks)] == [1, 2]
    assert sum(chunk.table.num_rows for chunk in chunks) == 0


@pytest.mark.parametrize("content", ["a,b", "a,b\n", "\n\na,b\r\n\r\n"])
def test_a_header_alone_is_a_delivery_without_rows(tmp_path: Path, content: str) -> None:
    path = written(tmp_path, content)
    assert open_delivery(path).columns == ("a", "b")
    assert rows_of(path) == []


def test_a_single_column_skips_blank_lines_and_keeps_quoted_empty_ones(tmp_path: Path) -> None:
    assert rows_of(written(tmp_path, 'a\n1\n\n""\n2')) == [{"a": "1"}, {"a": ""}, {"a": "2"}]


def test_chunks_can_be_read_twice(tmp_path: Path) -> None:
    delivery = open_delivery(written(tmp_path, "a\n1\n"))
    assert len(list(delivery.chunks())) == len(list(delivery.chunks())) == 1


def test_a_missing_file_a_folder_and_an_empty_file_are_refused(tmp_path: Path) -> None:
    assert "no such file" in refusal(tmp_path / "x.csv")
    folder = tmp_path / "f.csv"
    folder.mkdir()
    assert "is a directory" in refusal(folder)
    assert "empty (0 bytes)" in refusal(written(tmp_path, b""))
    assert "no header, only blank lines" in refusal(written(tmp_path, b"\xef\xbb\xbf\n\n"))
    assert "no header" in refusal(written(tmp_path, gzip.compress(b""), "e.csv.gz"))


def test_files_that_are_not_what_their_name_says_are_refused(tmp_path: Path) -> None:
    assert "is a Parquet file" in refusal(written(tmp_path, b"PAR1....PAR1"))
    assert "NUL bytes" in refusal(written(tmp_path, "id,name\n1,x\n".encode("utf-16")))
    assert "NUL bytes" in refusal(written(tmp_path, b"PK\x03\x04\x00\x00"))
    assert "not gzip data" in refusal(written(tmp_path, "a,b\n", "d.csv.gz"))


def test_names_that_tell_no_format_need_it_declared(tmp_path: Path) -> None:
    path = written(tmp_path, "a\n1\n", "delivery.txt")
    assert "does not tell the format" in refusal(path)
    assert "format 'xml' is not known" in refusal(path, format="xml")
    assert next(open_delivery(path, format="csv").chunks()).table["a"].to_pylist() == ["1"]


def test_a_gzip_file_cut_off_far_behind_its_start_is_refused_while_streaming(tmp_path: Path) -> None:
    draw = random.Random(1)
    body = b"a,b\n" + b"".join(b"%d,%d\n" % (draw.getrandbits(60), n) for n in range(200_000))
    packed = gzip.compress(body)
    for damaged in (packed[: len(packed) // 2], packed[:-4], packed[:-12] + b"\0" * 12):
        path = written(tmp_path, damaged, "d.csv.gz")
        assert open_delivery(path).columns == ("a", "b")
        message = refusal(path)
        assert "damaged or cut off after about row " in message
        assert int(message.split("about row ")[1].split()[0]) > 10_000


def test_invalid_utf8_is_refused_with_about_its_row(tmp_path: Path) -> None:
    message = refusal(written(tmp_path, b"a,b\n1,x\n2,y\n3,\xfc\n4,z\n"))
    assert "not valid UTF-8 at about row 3 (byte 0xfc)" in message
    assert "export the file as UTF-8" in message
    assert "not valid UTF-8" in refusal(written(tmp_path, b"a\n1\xc3"))
    far = b"a,b\n" + b"1,\xc3\xa9\n" * 1_000_000 + b"\xff\n" + b"1,2\n" * 10
    message = refusal(written(tmp_path, far))
    assert "at about row 1000001 " in message


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("a,b,a", "column 'a' occurs twice; rename"),
        ("Id,b,ID", "column 'ID' occurs twice (also as 'Id'"),
        ("a,,b", "column 2 has no name"),
        ("a,b,", "column 3 has no name"),
        ('a," "', "column 2 has no name"),
    ],
)
def test_doubtful_column_names_are_refused(tmp_path: Path, header: str, expected: str) -> None:
    assert expected in refusal(written(tmp_path, f"{header}\n1,2,3\n"))


@pytest.mark.parametrize("columns", ["a", "a,b"])
def test_a_quote_that_is_never_closed_is_refused(tmp_path: Path, columns: str) -> None:
    row = columns.replace("a", '"x')
    assert "is never closed" in refusal(written(tmp_path, f"{columns}\n{columns}\n{row}\n{columns}\n"))


def test_an_open_quote_in_a_large_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("xts_pipeline.staging.readers.csv_file._BLOCK_BYTES", 1 << 20)
    message = refusal(written(tmp_path, 'a,b\n1,"' + "2\n1," * 1_000_000))
    assert "longer than 1 MiB; most likely a quoted value is never closed" in message


def test_too_many_malformed_rows_at_once_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("xts_pipeline.staging.readers.csv_file._MALFORMED_AT_ONCE", 10)
    message = refusal(written(tmp_path, "a,b\n1,2\n" + "1;2\n" * 11))
    assert "over 10 malformed rows, the first is row 2" in message
    assert "is the delimiter right?" in message


@pytest.mark.parametrize("data", [5, None, [1], {"a": 1}, b"x.csv"])
def test_other_objects_are_refused_with_what_is_accepted(data: object) -> None:
    with pytest.raises(DeliveryError, match=rf"cannot load a builtins.{type(data).__name__}; give .*DataFrame"):
        open_delivery(data)


MEASURE = """
import resource, sys
from xts_pipeline.staging.readers import open_delivery
rows = sum(chunk.table.num_rows for chunk in open_delivery(sys.argv[1]).chunks())
print(rows, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
"""


@pytest.mark.long
def test_ten_million_rows_stream_in_bounded_memory(tmp_path: Path) -> None:
    path = tmp_path / "big.csv"
    with path.open("w") as file:
        file.write("customer_id,street,city,postcode,extract_date\n")
        for start in range(0, 10_000_000, 100_000):
            file.writelines(
                f"{n},Street of some length {n},City {n % 1000},{n % 100_000:05},2026-01-01\n"
                for n in range(start, start + 100_000)
            )
    done = subprocess.run([sys.executable, "-c", MEASURE, str(path)], capture_output=True, text=True, check=True)
    rows, megabytes = map(int, done.stdout.split())
    assert rows == 10_000_000
    assert megabytes < 2_000


@pytest.mark.parametrize("delimiter", [";", "\t", "|"])
def test_another_delimiter_is_declared(tmp_path: Path, delimiter: str) -> None:
    lines = [("id", "name", "note"), ("1", '"a,b"', ""), ("2", "c", '""'), ("3", "d")]
    path = written(tmp_path, "\n".join(delimiter.join(line) for line in lines))
    chunks = list(open_delivery(path, delimiter=delimiter).chunks())
    assert [row for chunk in chunks for row in chunk.table.to_pylist()] == [
        {"id": "1", "name": "a,b", "note": None},
        {"id": "2", "name": "c", "note": ""},
    ]
    assert [row.row_number for row in malformed_of(chunks)] == [3]


def test_a_header_separated_otherwise_than_declared_says_what_to_declare(tmp_path: Path) -> None:
    path = written(tmp_path, "id;name\n1;a\n")
    assert "declare `delimiter: ';'`" in refusal(path)
