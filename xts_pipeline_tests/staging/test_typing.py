"""Fitting columns to types: exact or a misfit, and the fast path never disagrees with the parsers."""

import datetime as dt
from decimal import Decimal
from functools import partial
from zoneinfo import ZoneInfo

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from xts_pipeline.staging import values as parse
from xts_pipeline.staging.typing import fit, infer

US = pa.timestamp("us")
INT, BOOL, TEXT, DATE, FLOAT, BYTES = pa.int64(), pa.bool_(), pa.string(), pa.date32(), pa.float64(), pa.binary()


def one(value: object, target: pa.DataType, source: pa.DataType | None = None, **zone: str) -> object:
    """The fitted value, or its misfit reason as a 1-tuple; a second, plain row must not be touched."""
    array = pa.array([None, value, None], source)
    fitted = fit(array, target, **zone)  # type: ignore[arg-type]
    assert fitted.values.type == target
    assert fitted.values.null_count == (3 if value is None or fitted.misfits else 2)
    return (fitted.misfits[1],) if fitted.misfits else fitted.values[1].as_py()


@pytest.mark.parametrize(
    ("value", "target", "expected"),
    [
        ("007", INT, 7),
        ("+5", INT, 5),
        (" 12 ", INT, 12),
        ("2.0", INT, 2),
        ("-9223372036854775808", INT, -(2**63)),
        ("00000000000000000000000000012", INT, 12),
        (2.0, INT, 2),
        (-(2.0**63), INT, -(2**63)),
        (Decimal("3.00"), INT, 3),
        ("TRUE", BOOL, True),
        ("f", BOOL, False),
        ("0", BOOL, False),
        (True, BOOL, True),
        ("1.20", pa.decimal128(10, 1), Decimal("1.2")),
        (".5", pa.decimal128(10, 2), Decimal("0.50")),
        ("1e3", pa.decimal128(10, 2), Decimal("1000.00")),
        ("-0", pa.decimal128(10, 2), Decimal("0.00")),
        ("0.000", pa.decimal128(2, 2), Decimal("0.00")),
        (0.1, pa.decimal128(10, 2), Decimal("0.10")),
        (12, pa.decimal128(4, 2), Decimal("12.00")),
        (Decimal("1.20"), pa.decimal128(10, 1), Decimal("1.2")),
        ("2026-02-28", DATE, dt.date(2026, 2, 28)),
        ("2024-02-29", DATE, dt.date(2024, 2, 29)),
        ("0001-01-01", DATE, dt.date(1, 1, 1)),
        ("9999-12-31", DATE, dt.date(9999, 12, 31)),
        (dt.datetime(2026, 1, 1), DATE, dt.date(2026, 1, 1)),
        ("2026-01-01T10:00:00", US, dt.datetime(2026, 1, 1, 10)),
        ("2026-01-01 10:00", US, dt.datetime(2026, 1, 1, 10)),
        ("2026-01-01", US, dt.datetime(2026, 1, 1)),
        ("2026-01-01 10:00:00.1234560", US, dt.datetime(2026, 1, 1, 10, 0, 0, 123456)),
        ("2026-01-01T10:00:00Z", US, dt.datetime(2026, 1, 1, 10)),
        ("2026-01-01T10:00:00+02:00", US, dt.datetime(2026, 1, 1, 8)),
        ("2026-01-01T10:00:00.5-0530", US, dt.datetime(2026, 1, 1, 15, 30, 0, 500000)),
        (dt.date(2026, 1, 1), US, dt.datetime(2026, 1, 1)),
        ("1.5e3", FLOAT, 1500.0),
        ("0.1", FLOAT, 0.1),
        (3, FLOAT, 3.0),
        (Decimal("0.10"), FLOAT, 0.1),
        ("deadBEEF", BYTES, b"\xde\xad\xbe\xef"),
        (b"\x00", BYTES, b"\x00"),
        (" kept ", TEXT, " kept "),
        ("", TEXT, ""),
        (12, TEXT, "12"),
        (True, TEXT, "true"),
        (Decimal("0.0000001"), TEXT, "0.0000001"),
        (Decimal("1.50"), TEXT, "1.50"),
        (dt.date(33, 1, 1), TEXT, "0033-01-01"),
        (dt.datetime(2026, 1, 1, 10), TEXT, "2026-01-01T10:00:00.000000"),
        (None, INT, None),
    ],
)
def test_a_value_that_is_exactly_one_of_the_type_fits(value: object, target: pa.DataType, expected: object) -> None:
    assert one(value, target) == expected


@pytest.mark.parametrize(
    ("value", "target", "reason"),
    [
        ("12a", INT, "'12a' is not an integer"),
        ("", INT, "'' is not an integer"),
        ("1.5", INT, "'1.5' is not an integer"),
        ("1e3", INT, "'1e3' is not an integer"),
        ("1_000", INT, "'1_000' is not an integer"),
        ("1,000", INT, "'1,000' is not an integer"),
        ("１", INT, "'１' is not an integer"),
        ("\t1", INT, "'\t1' is not an integer"),
        ("9223372036854775808", INT, "'9223372036854775808' does not fit a 64-bit integer"),
        (1.5, INT, "1.5 is not an integer"),
        (2.0**63, INT, "9.223372036854776e+18 does not fit a 64-bit integer"),
        (float("inf"), INT, "inf is not an integer"),
        (Decimal("1.5"), INT, "1.5 is not an integer"),
        (True, INT, "true is not an integer"),
        (dt.date(2026, 1, 1), INT, "2026-01-01 is not an integer"),
        (1, BOOL, "1 is not a boolean"),
        ("yes", BOOL, "'yes' is not a boolean"),
        ("", BOOL, "'' is not a boolean"),
        ("1.234", pa.decimal128(10, 2), "'1.234' has more than 2 decimal places"),
        ("123", pa.decimal128(4, 2), "'123' has more than 2 digits before the decimal point"),
        ("1e99", pa.decimal128(10, 2), "'1e99' has more than 8 digits before the decimal point"),
        ("NaN", pa.decimal128(10, 2), "'NaN' is not a decimal number"),
        ("1,5", pa.decimal128(10, 2), "'1,5' is not a decimal number"),
        (0.1 + 0.2, pa.decimal128(10, 2), "0.30000000000000004 has more than 2 decimal places"),
        (float("inf"), pa.decimal128(10, 2), "inf is not a decimal number"),
        (100, pa.decimal128(4, 2), "100 has more than 2 digits before the decimal point"),
        (Decimal("1.25"), pa.decimal128(10, 1), "1.25 has more than 1 decimal places"),
        (True, pa.decimal128(10, 1), "true is not a decimal number"),
        ("2026-02-29", DATE, "'2026-02-29' is not a date of the calendar"),
        ("01.02.2026", DATE, "'01.02.2026' is not a date (YYYY-MM-DD)"),
        ("2026-01-01T00:00:00", DATE, "'2026-01-01T00:00:00' is not a date (YYYY-MM-DD)"),
        ("20260101", DATE, "'20260101' is not a date (YYYY-MM-DD)"),
        ("0000-01-01", DATE, "'0000-01-01' is not a date of the calendar"),
        (dt.datetime(2026, 1, 1, 1), DATE, "2026-01-01T01:00:00 has a time of day, it is not a date"),
        (20260101, DATE, "20260101 is not a date (YYYY-MM-DD)"),
        ("2026-01-01T24:00:00", US, "'2026-01-01T24:00:00' is not a timestamp of the calendar and the clock"),
        ("2026-01-01 10:00:00.1234567", US, "'2026-01-01 10:00:00.1234567' is finer than a microsecond"),
        ("2026-01-01T10:00:00ZZ", US, "'2026-01-01T10:00:00ZZ' is not a timestamp (ISO 8601: YYYY-MM-DDTHH:MM:SS)"),
        (
            "2026-01-01T10:00:00+99:00",
            US,
            "'2026-01-01T10:00:00+99:00' is not a timestamp of the calendar and the clock",
        ),
        ("9999-12-31T23:00:00-02:00", US, "'9999-12-31T23:00:00-02:00' lies outside the years 1 to 9999 in UTC"),
        ("now", US, "'now' is not a timestamp (ISO 8601: YYYY-MM-DDTHH:MM:SS)"),
        (1767225600, US, "1767225600 is not a timestamp (ISO 8601: YYYY-MM-DDTHH:MM:SS)"),
        ("nan", FLOAT, "'nan' is not a number"),
        ("inf", FLOAT, "'inf' is not a number"),
        ("1e999", FLOAT, "'1e999' does not fit a 64-bit float"),
        (2**53 + 1, FLOAT, "9007199254740993 is not exactly a 64-bit float"),
        (False, FLOAT, "false is not a number"),
        ("abc", BYTES, "'abc' is not hexadecimal (two digits a byte)"),
        ("", BYTES, "'' is not hexadecimal (two digits a byte)"),
        (1.5, TEXT, "1.5 is a binary float, which has no exact text; declare float64 or a decimal"),
        (b"\xff", TEXT, "bytes ff are not text; declare binary"),
    ],
)
def test_any_other_value_is_a_misfit_with_its_reason(value: object, target: pa.DataType, reason: str) -> None:
    assert one(value, target) == (reason,)


def test_long_values_are_cut_in_the_reason() -> None:
    assert one("x" * 1000, INT) == (f"'{'x' * 60}...' is not an integer",)


def test_a_decimal_too_large_for_the_scale_is_no_other_number() -> None:
    # pyarrow's safe cast overflows 128 bits here and returns a wrong number without an error
    value = Decimal("151587967968838.9039")
    assert one(value, pa.decimal128(30, 30), pa.decimal128(30, 4)) == (
        "151587967968838.9039 has more than 0 digits before the decimal point",
    )


def test_each_misfit_has_its_own_index_and_repeated_values_are_all_reported() -> None:
    fitted = fit(pa.chunked_array([["1", "x", None], ["x", "2", "y"]]), INT)
    assert fitted.values.to_pylist() == [1, None, None, None, 2, None]
    assert fitted.misfits == {
        1: "'x' is not an integer",
        3: "'x' is not an integer",
        5: "'y' is not an integer",
    }


def test_a_column_without_values_fits_every_type() -> None:
    for target in (INT, BOOL, TEXT, DATE, FLOAT, BYTES, US, pa.decimal128(10, 2)):
        assert one(None, target, pa.null()) is None
        assert len(fit(pa.array([], TEXT), target).values) == 0


def test_dictionaries_and_large_types_fit_as_their_values() -> None:
    coded = pa.array(["1", "x", "1"]).dictionary_encode()
    assert fit(coded, INT).values.to_pylist() == [1, None, 1]
    assert one("1", INT, pa.large_string()) == 1
    assert one(2**64 - 1, INT, pa.uint64()) == ("18446744073709551615 does not fit a 64-bit integer",)
    assert one(2**64 - 1, pa.decimal128(20, 0), pa.uint64()) == Decimal(2**64 - 1)


@pytest.mark.parametrize("source", [pa.list_(INT), pa.time64("us"), pa.duration("us"), pa.struct([("a", INT)])])
def test_types_that_are_not_stored_are_refused(source: pa.DataType) -> None:
    with pytest.raises(TypeError, match="cannot be stored"):
        fit(pa.array([None], source), TEXT)
    with pytest.raises(TypeError, match="cannot be stored"):
        infer(pa.array([None], source))


def test_an_unknown_target_is_refused() -> None:
    with pytest.raises(TypeError, match="cannot be declared as int32"):
        fit(pa.array([1]), pa.int32())


# time zones


def test_a_naive_value_is_local_time_in_the_zone() -> None:
    for value in ("2026-07-01T12:00:00", dt.datetime(2026, 7, 1, 12)):
        assert one(value, US, zone="Europe/Berlin") == dt.datetime(2026, 7, 1, 10)
    assert one(dt.date(2026, 7, 1), US, zone="Europe/Berlin") == dt.datetime(2026, 6, 30, 22)


def test_a_zoned_value_does_not_depend_on_the_zone() -> None:
    assert one("2026-07-01T12:00:00Z", US, zone="Europe/Berlin") == dt.datetime(2026, 7, 1, 12)
    zoned = pa.timestamp("ns", tz="America/New_York")
    there = dt.datetime(2026, 7, 1, 12, tzinfo=dt.UTC)
    assert one(there, US, zoned, zone="Europe/Berlin") == dt.datetime(2026, 7, 1, 12)
    assert one(there, TEXT, zoned, zone="Europe/Berlin") == "2026-07-01T12:00:00.000000"


def test_a_time_that_the_clock_skips_is_a_misfit() -> None:
    reason = "2026-03-29T02:30:00 does not exist in Europe/Berlin (the clock skips it)"
    assert one("2026-03-29T02:30:00", US, zone="Europe/Berlin") == (reason,)


def test_a_time_that_occurs_twice_is_resolved_only_as_declared() -> None:
    twice = "2026-10-25T02:30:00"
    (reason,) = one(twice, US, zone="Europe/Berlin")  # type: ignore[misc]
    assert reason == f"{twice} occurs twice in Europe/Berlin; declare `ambiguous_time: earliest` or `latest`"
    assert one(twice, US, zone="Europe/Berlin", ambiguous="earliest") == dt.datetime(2026, 10, 25, 0, 30)
    assert one(twice, US, zone="Europe/Berlin", ambiguous="latest") == dt.datetime(2026, 10, 25, 1, 30)


def test_the_end_of_time_can_be_local_time_where_it_has_a_utc() -> None:
    assert one("9999-12-31", US, zone="Europe/Berlin") == dt.datetime(9999, 12, 30, 23)
    assert one("9999-12-31", US, zone="America/New_York") == dt.datetime(9999, 12, 31, 5)
    assert one("9999-12-31T23:59:59", US, zone="America/New_York") == (
        "9999-12-31T23:59:59 in America/New_York lies outside the years 1 to 9999 in UTC",
    )
    assert one("0001-01-01", US, zone="Europe/Berlin") == (
        "0001-01-01T00:00:00 in Europe/Berlin lies outside the years 1 to 9999 in UTC",
    )


def test_misfits_of_parsing_and_of_the_zone_are_reported_together() -> None:
    fitted = fit(
        pa.array(["2026-01-01T10:00:00+01:00", "x", "2026-03-29T02:30:00", "2026-01-01T10:00:00", "25:00Z"]),
        US,
        zone="Europe/Berlin",
    )
    nine = dt.datetime(2026, 1, 1, 9)
    assert fitted.values.to_pylist() == [nine, None, None, nine, None]
    assert sorted(fitted.misfits) == [1, 2, 4]


@given(st.lists(st.datetimes(), max_size=20), st.sampled_from(["Europe/Berlin", "America/Sao_Paulo", "Asia/Kolkata"]))
@settings(deadline=None)
def test_local_times_agree_with_the_standard_library(times: list[dt.datetime], zone: str) -> None:
    fitted = fit(pa.array(times, US), US, zone=zone)
    for at, time in enumerate(times):
        here = time.replace(tzinfo=ZoneInfo(zone))
        try:
            expected = here.astimezone(dt.UTC).replace(tzinfo=None)
            back = here.astimezone(dt.UTC).astimezone(ZoneInfo(zone)).replace(tzinfo=None)
        except OverflowError:
            assert at in fitted.misfits
            continue
        if back != time or here.utcoffset() != here.replace(fold=1).utcoffset():
            assert at in fitted.misfits
        else:
            assert fitted.values[at].as_py() == expected


# units and bounds


def test_nanoseconds_must_be_whole_microseconds() -> None:
    ticks = pa.array([1_000, 1_001, None, -1_000, -999], INT).cast(pa.timestamp("ns"))
    fitted = fit(ticks, US)
    assert fitted.values.cast(INT).to_pylist() == [1, None, None, -1, None]
    assert set(fitted.misfits.values()) == {"the timestamp has nanoseconds; only whole microseconds are stored"}
    assert sorted(fitted.misfits) == [1, 4]


def test_dates_outside_the_calendar_of_python_are_misfits() -> None:
    days = pa.array([0, 2_932_896, 2_932_897, -719_162, -719_163], pa.int32()).cast(DATE)
    seconds = pa.array([0, 253_402_300_799, 253_402_300_800, 2**62, -62_135_596_801], INT).cast(pa.timestamp("s"))
    for column, bad in ((days, [2, 4]), (seconds, [2, 3, 4])):
        for target in (US, DATE, TEXT):
            fitted = fit(column, target)
            outside = {at for at, why in fitted.misfits.items() if "outside the years 1 to 9999" in why}
            assert outside == set(bad)


# the two paths agree

ODD_TEXT = st.text(alphabet="0123456789+-. eETZ:１_,x", max_size=30)
NUMBERS = st.one_of(
    st.integers(-(2**70), 2**70).map(str), st.decimals(allow_nan=False, allow_infinity=False).map(str), ODD_TEXT
)
INSTANTS = st.one_of(
    st.datetimes().map(dt.datetime.isoformat),
    st.datetimes(timezones=st.just(dt.timezone(dt.timedelta(hours=5, minutes=30)))).map(dt.datetime.isoformat),
    st.datetimes().map(lambda time: time.isoformat(sep=" ") + "Z"),
    st.dates().map(str),
    st.from_regex(r"[0-9]{4}-[01][0-9]-[0-3][0-9][T ][0-2][0-9]:[0-6][0-9]:[0-6][0-9]Z?", fullmatch=True),
    ODD_TEXT,
)


def by_parser(value: object, parser: object) -> object:
    try:
        return parser(value)  # type: ignore[operator]
    except parse.MisfitError as misfit:
        return (str(misfit),)


def timestamp(value: object) -> object:
    zoned = by_parser(value, parse.zoned_timestamp)
    return by_parser(value, parse.naive_timestamp) if isinstance(zoned, tuple) and "ISO 8601" in zoned[0] else zoned


def check(values: list[object], target: pa.DataType, parser: object, source: pa.DataType | None = None) -> None:
    fitted = fit(pa.array(values, source), target)
    got = [(fitted.misfits[at],) if at in fitted.misfits else v for at, v in enumerate(fitted.values.to_pylist())]
    assert got == [by_parser(value, parser) for value in values]


@given(st.lists(NUMBERS, min_size=1), st.integers(1, 38), st.integers(0, 38))
@settings(deadline=None)
def test_number_texts_fit_as_the_parsers_say(texts: list[object], precision: int, scale: int) -> None:
    scale = min(scale, precision)
    check(texts, INT, parse.integer)
    check(texts, FLOAT, parse.double)
    check(texts, BOOL, parse.boolean)
    check(texts, pa.decimal128(precision, scale), partial(parse.decimal, precision=precision, scale=scale))


@given(st.lists(INSTANTS, min_size=1))
@settings(deadline=None)
def test_date_and_timestamp_texts_fit_as_the_parsers_say(texts: list[object]) -> None:
    check(texts, DATE, parse.date)
    check(texts, US, timestamp)


@given(
    st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1),
    st.lists(st.floats(allow_nan=False), min_size=1),
    st.lists(st.decimals(-(10**25), 10**25, places=4), min_size=1),
    st.integers(1, 38),
    st.integers(0, 38),
)
@settings(deadline=None)
def test_numbers_fit_as_the_parsers_say(
    ints: list[object], floats: list[object], decimals: list[object], precision: int, scale: int
) -> None:
    scale = min(scale, precision)
    to_decimal = partial(parse.decimal, precision=precision, scale=scale)
    for values, source in ((ints, INT), (floats, FLOAT), (decimals, pa.decimal128(30, 4))):
        check(values, INT, parse.integer, source)
        check(values, FLOAT, parse.double, source)
        check(values, pa.decimal128(precision, scale), to_decimal, source)
        check(values, TEXT, parse.text, source)


@given(st.lists(st.datetimes(), min_size=1))
def test_timestamps_fit_dates_and_text_as_the_parsers_say(times: list[object]) -> None:
    check(times, DATE, parse.date)
    assert fit(pa.array(times, US), TEXT).values.to_pylist() == [
        f"{time:%H:%M:%S.%f}".join((f"{time.date()}T", ""))  # type: ignore[attr-defined]
        for time in times
    ]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (pa.string(), TEXT),
        (pa.large_string(), TEXT),
        (pa.int8(), INT),
        (pa.uint32(), INT),
        (pa.uint64(), pa.decimal128(20, 0)),
        (pa.bool_(), BOOL),
        (pa.decimal128(10, 2), pa.decimal128(10, 2)),
        (pa.decimal256(10, 2), pa.decimal128(10, 2)),
        (pa.date64(), DATE),
        (pa.timestamp("ns", "Asia/Tokyo"), US),
        (pa.timestamp("s"), US),
        (pa.binary(4), BYTES),
        (pa.float32(), FLOAT),
        (pa.null(), None),
        (pa.dictionary(pa.int8(), pa.string()), TEXT),
    ],
)
def test_a_typed_column_has_a_type_of_its_own(source: pa.DataType, expected: pa.DataType | None) -> None:
    assert infer(pa.array([], source)) == expected


def test_decimals_of_more_than_38_digits_have_no_type() -> None:
    with pytest.raises(TypeError, match="38 digits"):
        infer(pa.array([], pa.decimal256(50, 2)))
