"""How a connection is configured: URL, environment, keys, what is refused, and what every session is set to."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest
import snowflake.connector
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_der_private_key,
    load_pem_private_key,
)

from xts_pipeline.errors import DeclarationError, WarehouseBusyError, WarehouseError
from xts_pipeline.templates import TableOptions
from xts_pipeline.warehouse import open_warehouse
from xts_pipeline.warehouse.snowflake import SnowflakeWarehouse, _refuse_writing
from xts_pipeline.warehouse.snowflake_settings import KEY_PAIR_DOCS, SnowflakeSettings, settings_of_url
from xts_pipeline.warehouse.work import working_on
from xts_pipeline_tests.snowflake.fake import private_key

ENVIRONMENT = {
    "SNOWFLAKE_ACCOUNT": "org-acc",
    "SNOWFLAKE_USER": "loader",
    "SNOWFLAKE_ROLE": "xts_loader",
    "SNOWFLAKE_WAREHOUSE": "loading",
    "SNOWFLAKE_DATABASE": "dv",
    "SNOWFLAKE_SCHEMA": "raw_vault",
    "SNOWFLAKE_AUTHENTICATOR": "externalbrowser",
    "XTS_SNOWFLAKE_ASSISTED_WAREHOUSE": "big",
    "XTS_SNOWFLAKE_TRANSIENT": "staged, control",
    "XTS_SNOWFLAKE_RETENTION_DAYS": "7",
}
BASE: dict[str, Any] = {"account": "a", "user": "u", "database": "dv"}


def test_everything_may_come_from_the_environment() -> None:
    settings = settings_of_url("snowflake://", ENVIRONMENT)
    arguments = settings.connection_arguments()
    expected = {"account": "org-acc", "user": "loader", "role": "XTS_LOADER", "warehouse": "LOADING"}
    expected |= {"database": "DV", "schema": "RAW_VAULT", "authenticator": "externalbrowser"}
    assert {name: arguments[name] for name in expected} == expected
    assert settings.places.vault == "raw_vault"
    assert settings.tables == TableOptions(frozenset({"staged", "control"}), 7)
    assert (settings.warehouse_for(assisted=True), settings.warehouse_for(backfill=True)) == ("BIG", "LOADING")


def test_a_url_outdoes_the_environment_and_what_is_given_outdoes_both() -> None:
    url = "snowflake://me@other/mine/v?role=r1&lock_timeout=5"
    settings = settings_of_url(url, ENVIRONMENT)
    named = (settings.user, settings.account, settings.database, settings.vault_schema, settings.role)
    assert named == ("me", "other", "mine", "v", "r1")
    assert settings.session_parameters()["LOCK_TIMEOUT"] == 5
    assert settings_of_url(url, ENVIRONMENT, given={"role": "r2"}).role == "r2"


@pytest.mark.parametrize(
    ("url", "environment", "told"),
    [
        ("snowflake://u:secret@a/dv", {}, f"no password stands in a URL; see {KEY_PAIR_DOCS}"),
        ("snowflake://u@a/dv?nonsense=1", {}, "nonsense is no setting"),
        ("snowflake://u@a/dv/s/more", {}, "a database and a schema, no more"),
        ("snowflake://u@a", {}, r"database \(\$SNOWFLAKE_DATABASE\): Field required"),
        ("snowflake://u@a/dv", {}, f"nothing to log in with.*{KEY_PAIR_DOCS}"),
        ("snowflake://u@a/dv", {"SNOWFLAKE_PASSWORD": "hunter2"}, f"a password is refused.*{KEY_PAIR_DOCS}"),
        ("snowflake://u@a/d-v?authenticator=oauth", {}, "'d-v' holds more than letters"),
        ("snowflake://u@a/dv?authenticator=oauth&transient=sats", {}, "sats is no kind of table"),
        ("snowflake://u@a/dv?authenticator=oauth&retention_days=91", {}, "keeps 0 to 90 days"),
    ],
)
def test_what_is_wrong_is_told_with_its_field_and_without_secrets(
    url: str, environment: dict[str, str], told: str
) -> None:
    with pytest.raises(DeclarationError, match=told) as refused:
        settings_of_url(url, environment)
    assert "hunter2" not in str(refused.value)
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize("authenticator", ["username_password_mfa", "https://acme.okta.com"])
def test_a_persons_password_goes_along_with_an_authenticator_that_asks_for_more(authenticator: str) -> None:
    settings = SnowflakeSettings(**BASE, authenticator=authenticator, password="hunter2")
    assert settings.connection_arguments()["password"] == "hunter2"
    assert "hunter2" not in repr(settings)


@pytest.mark.parametrize(
    "authenticator", ["externalbrowser", "oauth", "workload_identity", "programmatic_access_token"]
)
def test_other_authenticators_are_passed_through(authenticator: str) -> None:
    arguments = SnowflakeSettings(**BASE, authenticator=authenticator, token="t").connection_arguments()
    assert (arguments["authenticator"], arguments["token"]) == (authenticator, "t")


@pytest.mark.parametrize(
    "form", ["pem", "pem in one line", "base64 of pem", "path", "path of der", "encrypted", "encrypted path"]
)
def test_a_private_key_is_read_in_every_form(form: str, tmp_path: Path) -> None:
    passphrase = "open sesame" if "encrypted" in form else None
    pem = private_key(passphrase)
    plain = load_pem_private_key(pem.encode(), passphrase.encode() if passphrase else None)
    der = plain.private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption())
    (tmp_path / "key.p8").write_bytes(der if "der" in form else pem.encode())
    given: dict[str, Any] = {"private_key_passphrase": passphrase}
    if "path" in form:
        given["private_key_path"] = str(tmp_path / "key.p8")
    else:
        texts = {"pem in one line": pem.replace("\n", "\\n"), "base64 of pem": base64.b64encode(pem.encode()).decode()}
        given["private_key"] = texts.get(form, pem)
    settings = SnowflakeSettings(**BASE, **given)
    assert settings.private_key_der() == der
    assert load_der_private_key(settings.connection_arguments()["private_key"], None) is not None
    assert pem not in repr(settings)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"private_key": "nonsense"}, "private_key cannot be read as a private key"),
        ({"private_key_path": "/nowhere/key.p8"}, "private_key_path /nowhere/key.p8: No such file"),
        ({"private_key": private_key("x")}, "An encrypted one needs private_key_passphrase"),
        ({"private_key": private_key("x"), "private_key_passphrase": "y"}, "cannot be read"),
    ],
)
def test_a_key_that_cannot_be_read_is_told(given: dict[str, str], told: str) -> None:
    with pytest.raises(DeclarationError, match=told):
        SnowflakeSettings(**BASE, **given).connection_arguments()


def test_a_session_begins_with_every_parameter_that_a_load_rests_on() -> None:
    settings = SnowflakeSettings(**BASE, authenticator="oauth", lock_timeout=30, statement_timeout=60)
    parameters = settings.connection_arguments()["session_parameters"]
    assert parameters["TIMEZONE"] == "UTC"
    assert parameters["TIMESTAMP_TYPE_MAPPING"] == "TIMESTAMP_NTZ"
    assert (parameters["LOCK_TIMEOUT"], parameters["STATEMENT_TIMEOUT_IN_SECONDS"]) == (30, 60)
    assert parameters["TRANSACTION_ABORT_ON_ERROR"] is True
    assert parameters["AUTOCOMMIT"] is True  # a transaction is begun in so many words


class Connection:
    """Stands for an open connection; notes what is asked of it."""

    def __init__(self, fail: BaseException | None = None) -> None:
        self.ran: list[tuple[str, dict[str, str]]] = []
        self.ended: list[str] = []
        self.fail = fail
        self.description: list[tuple[object, ...]] = []
        self.sfqid, self.rowcount = "01b2", 3

    def cursor(self) -> Connection:
        return self

    def execute(self, sql: str, values: object = None, _statement_params: dict[str, str] | None = None) -> None:
        self.ran.append((sql, _statement_params or {}))
        if self.fail and not sql.startswith("begin"):
            raise self.fail

    def fetchall(self) -> list[object]:
        return []

    def rollback(self) -> None:
        self.ended.append("rollback")

    def close(self) -> None:
        self.ended.append("close")


def warehouse_over(connection: Connection, **changes: Any) -> SnowflakeWarehouse:
    return SnowflakeWarehouse(SnowflakeSettings(**BASE, authenticator="oauth", **changes), lambda: connection)


@pytest.mark.parametrize(
    "fault", [ValueError("x"), KeyboardInterrupt(), snowflake.connector.errors.ProgrammingError("x")]
)
def test_a_connection_is_rolled_back_and_closed_on_any_exception(fault: BaseException) -> None:
    connection = Connection()
    with pytest.raises(type(fault)), warehouse_over(connection).transaction():
        raise fault
    assert connection.ended == ["rollback", "close"]


def test_what_a_statement_is_run_for_stands_in_its_query_tag() -> None:
    connection = Connection()
    warehouse = warehouse_over(connection, warehouse="small", assisted_warehouse="big")
    with (
        working_on(run="r1", source="crm", batch="b1", step="satellite:sat_city", assisted=True),
        warehouse.transaction() as transaction,
    ):
        transaction.run(warehouse.renderer.render("control/take_clock"), {})
    statements = [sql for sql, _ in connection.ran]
    assert statements[0] == 'use warehouse "BIG"'
    assert statements[1] == "begin transaction"
    assert statements[-1] == "commit"
    tag = '{"app": "xts", "run": "r1", "source": "crm", "batch": "b1", "step": "satellite:sat_city", "assisted": true}'
    assert {given["QUERY_TAG"] for _, given in connection.ran} == {tag}
    assert [(query.query_id, query.rows) for query in transaction.queries] == [("01b2", 3)]


def error(errno: int, sqlstate: str, message: str) -> snowflake.connector.errors.ProgrammingError:
    return snowflake.connector.errors.ProgrammingError(msg=message, errno=errno, sqlstate=sqlstate)


@pytest.mark.parametrize(
    ("fault", "is_conflict"),
    [
        (
            error(
                625, "57014", "has locked table ... the number of waiters for this lock exceeds the 20 statements limit"
            ),
            True,
        ),
        (error(999, "57014", "Statement was aborted: the lock timeout of 600 seconds was reached"), True),
        (error(999, "57014", "Transaction was aborted because of a deadlock"), True),
        (
            error(
                630, "57014", "Statement reached its statement or warehouse timeout of 300 second(s) and was canceled."
            ),
            False,
        ),
        (error(604, "57014", "SQL execution canceled"), False),
        (error(1003, "42000", "SQL compilation error: syntax error near 'lock'"), False),
        (ValueError("lock"), False),
    ],
)
def test_a_conflict_is_a_lock_that_another_holds_and_no_other_fault(fault: BaseException, is_conflict: bool) -> None:
    assert warehouse_over(Connection()).is_conflict(fault) is is_conflict


def test_an_account_that_cannot_be_reached_may_be_tried_again_and_a_refusal_may_not() -> None:
    def raising(fault: BaseException) -> SnowflakeWarehouse:
        def connect() -> object:
            raise fault

        return SnowflakeWarehouse(SnowflakeSettings(**BASE, authenticator="oauth"), connect)

    with (
        pytest.raises(WarehouseBusyError, match="cannot be reached now"),
        raising(snowflake.connector.errors.OperationalError("net")).transaction(),
    ):
        pass
    with (
        pytest.raises(WarehouseError, match="refused the connection of user u") as refused,
        raising(snowflake.connector.errors.DatabaseError("JWT token is invalid")).transaction(),
    ):
        pass
    assert not isinstance(refused.value, WarehouseBusyError)


@pytest.mark.parametrize(
    "sql",
    [
        "select 1",
        "-- why\nwith a as (select ';') select * from a;",
        "(select 1) union all select 2",
        "select '->>'",
        'select "a;b" from t',
        "show tables",
        "describe table t",
    ],
)
def test_a_query_may_read(sql: str) -> None:
    _refuse_writing(sql)


@pytest.mark.parametrize(
    "sql",
    [
        "insert into t select 1",
        "select 1; drop table x",
        "-- select 1\ndelete from t",
        "select 1 ->> insert into x select 1",
        "/* select */ commit",
        "call p()",
        "begin",
        "execute immediate 'drop table t'",
        "",
    ],
)
def test_a_query_may_do_nothing_else(sql: str) -> None:
    with pytest.raises(WarehouseError, match="one SELECT statement, and no other"):
        _refuse_writing(sql)


def test_the_url_opens_snowflake_without_connecting(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    opened = open_warehouse("snowflake://")
    assert (opened.renderer.dialect, opened.rolls_back_ddl) == ("snowflake", False)
    opened.close()
