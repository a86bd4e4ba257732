"""Parquet deliveries: types as the file has them, and files that are damaged or something else."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from xts_pipeline.errors import DeliveryError
from xts_pipeline.staging.readers import open_delivery


def written(folder: Path, table: pa.Table) -> Path:
    path = folder / "d.parquet"
    pq.write_table(table, path)
    return path


def refusal(path: Path) -> str:
    with pytest.raises(DeliveryError) as caught:
        list(open_delivery(path).chunks())
    assert str(path) in str(caught.value)
    return str(caught.value)


def test_types_are_kept_and_encodings_undone(tmp_path: Path) -> None:
    table = pa.table(
        {
            "id": pa.array([1, None, 3]),
            "code": pa.array(["a", "b", None]).dictionary_encode(),
            "long": pa.array(["x", None, "z"], pa.large_string()),
            "at": pa.array([0, 1, 2], pa.timestamp("ms", "UTC")),
            "price": pa.array([None, None, "1.50"]).cast(pa.decimal128(10, 2)),
            "tags": pa.array([[1], None, []]),
        }
    )
    delivery = open_delivery(written(tmp_path, table), chunk_rows=2)
    assert delivery.typed
    assert delivery.columns == tuple(table.column_names)
    chunks = list(delivery.chunks())
    assert [chunk.row_numbers.to_pylist() for chunk in chunks] == [[1, 2], [3]]
    types = dict(zip(table.column_names, chunks[0].table.schema.types, strict=True))
    assert types["code"] == types["long"] == pa.string()
    assert types["at"] == pa.timestamp("ms", "UTC")
    assert types["price"] == pa.decimal128(10, 2)
    assert pa.types.is_list(types["tags"])
    assert [row for chunk in chunks for row in chunk.table.to_pylist()] == table.to_pylist()


def test_a_file_without_rows_is_a_delivery_without_rows(tmp_path: Path) -> None:
    delivery = open_delivery(written(tmp_path, pa.table({"id": pa.array([], pa.int64())})))
    assert delivery.columns == ("id",)
    assert sum(chunk.table.num_rows for chunk in delivery.chunks()) == 0


def test_files_that_are_not_parquet_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "d.parquet"
    assert "no such file" in refusal(path)
    path.write_text("id,name\n1,x\n")
    assert "not a Parquet file, whatever its name says" in refusal(path)
    path.write_bytes(b"")
    assert "empty (0 bytes)" in refusal(path)


def test_a_file_that_is_cut_off_or_damaged_inside_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, pa.table({"x": pa.array([f"value {n}" for n in range(10_000)])}))
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    assert "damaged or cut off" in refusal(path)
    path.write_bytes(whole[:10] + b"\xff" * 2000 + whole[2010:])
    assert open_delivery(path).columns == ("x",)
    assert "damaged or cut off" in refusal(path)


def test_text_that_is_not_utf8_is_refused_with_column_and_row(tmp_path: Path) -> None:
    broken = pa.array([b"a", None, b"\xff"]).view(pa.string())
    message = refusal(written(tmp_path, pa.table({"name": broken})))
    assert "column 'name' is not valid UTF-8 in row 3" in message


def test_column_names_that_differ_only_by_case_are_refused(tmp_path: Path) -> None:
    assert "column 'ID' occurs twice (also as 'id'" in refusal(written(tmp_path, pa.table({"id": [1], "ID": [2]})))
