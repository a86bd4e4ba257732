"""How to reach Snowflake, who to be there, and how to work: from a URL, the environment, or Dagster's configuration."""

from __future__ import annotations

import base64
import binascii
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_der_private_key,
    load_pem_private_key,
)
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from xts_pipeline.errors import DeclarationError
from xts_pipeline.metadata.declaration import NAME
from xts_pipeline.templates import Places, TableOptions
from xts_pipeline.warehouse.snowflake_roles import Roles

KEY_PAIR_DOCS = "https://docs.snowflake.com/en/user-guide/key-pair-auth"
OF_THE_CONNECTOR = {  # fields that Snowflake's own tools read from the environment under these names
    "account": "SNOWFLAKE_ACCOUNT",
    "user": "SNOWFLAKE_USER",
    "role": "SNOWFLAKE_ROLE",
    "warehouse": "SNOWFLAKE_WAREHOUSE",
    "database": "SNOWFLAKE_DATABASE",
    "vault_schema": "SNOWFLAKE_SCHEMA",
    "authenticator": "SNOWFLAKE_AUTHENTICATOR",
    "private_key_path": "SNOWFLAKE_PRIVATE_KEY_PATH",
    "private_key": "SNOWFLAKE_PRIVATE_KEY",
    "private_key_passphrase": "SNOWFLAKE_PRIVATE_KEY_PASSPHRASE",
    "password": "SNOWFLAKE_PASSWORD",
    "token": "SNOWFLAKE_TOKEN",
}
PERSONS = ("username_password_mfa", "https://")  # authenticators for which a person's password is sent along


class SnowflakeSettings(BaseModel):
    """What a connection is made with. Durations are seconds; names are written as Snowflake shows them."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    account: str = Field(min_length=1, description="Account identifier, `organisation-account`.")
    user: str = Field(min_length=1, description="The user who logs in: a service user.")
    role: str | None = Field(default=None, description="The role to work as: the loader.")
    warehouse: str | None = Field(default=None, description="The warehouse that computes.")
    database: str = Field(min_length=1, description="The database that holds the three schemas.")
    vault_schema: str = Field(default="vault", description="The schema of the vault's tables.")
    staged_schema: str = Field(default="staged", description="The schema of the staged rows.")
    control_schema: str = Field(default="control", description="The schema of the ledger.")
    authenticator: str | None = Field(default=None, description="Snowflake's authenticator, when it is no key pair.")
    private_key_path: str | None = Field(default=None, description="File of the private key (PEM or DER).")
    private_key: str | None = Field(default=None, repr=False, description="The private key itself: PEM, or its base64.")
    private_key_passphrase: str | None = Field(default=None, repr=False, description="Of an encrypted private key.")
    password: str | None = Field(default=None, repr=False, description="Of a person, for authenticators with MFA.")
    token: str | None = Field(default=None, repr=False, description="Of OAuth, or a programmatic access token.")
    assisted_warehouse: str | None = Field(default=None, description="A bigger warehouse for assisted loads.")
    backfill_warehouse: str | None = Field(default=None, description="A bigger warehouse for backfills.")
    lock_timeout: int = Field(default=600, ge=0, description="How long a statement waits for another's lock.")
    statement_timeout: int = Field(default=4 * 3600, ge=0, description="How long a statement may take.")
    login_timeout: int = Field(default=60, gt=0, description="How long a login may take.")
    file_megabytes: int = Field(default=160, ge=1, le=4000, description="Size of the files that staged rows travel in.")
    upload_threads: int = Field(default=8, ge=1, le=99, description="Threads of an upload.")
    transient: tuple[str, ...] = Field(default=("staged",), description="Kinds of tables that have no fail-safe.")
    clustered: tuple[str, ...] = Field(default=(), description="Kinds of tables clustered by applied timestamp.")
    retention_days: int | None = Field(default=None, description="Days of time travel; left out: the schema's.")
    role_prefix: str = Field(default="xts", description="What the names of the four roles begin with.")
    connection: dict[str, Any] = Field(default_factory=dict, description="Other arguments of the connector.")

    @field_validator("vault_schema", "staged_schema", "control_schema", "role", "warehouse", "database", "role_prefix")
    @classmethod
    def _is_a_name(cls, value: str | None) -> str | None:
        if value is not None and not NAME.fullmatch(value):
            raise ValueError(f"{value!r} holds more than letters, digits and underscores")
        return value

    @field_validator("assisted_warehouse", "backfill_warehouse")
    @classmethod
    def _is_a_warehouse(cls, value: str | None) -> str | None:
        return cls._is_a_name(value)

    @model_validator(mode="after")
    def _may_log_in(self) -> SnowflakeSettings:
        told = self.authenticator or ""
        is_person = told.lower().startswith(PERSONS)
        if self.password is not None and not is_person:
            raise ValueError(
                "a password is refused: Snowflake blocks them for service users. Register a key pair for the user and "
                f"give private_key_path or private_key (see {KEY_PAIR_DOCS}); a person logs in with authenticator "
                "externalbrowser or username_password_mfa"
            )
        if self.private_key is not None and self.private_key_path is not None:
            raise ValueError("give private_key_path or private_key, not both")
        if not told and self.private_key is None and self.private_key_path is None and "host" not in self.connection:
            raise ValueError(
                f"nothing to log in with: give private_key_path or private_key (see {KEY_PAIR_DOCS}), or authenticator"
            )
        _ = self.tables
        return self

    @property
    def places(self) -> Places:
        """Where the tables live."""
        return Places(vault=self.vault_schema, staged=self.staged_schema, control=self.control_schema)

    @property
    def tables(self) -> TableOptions:
        """How the tables are kept."""
        return TableOptions(frozenset(self.transient), self.retention_days, frozenset(self.clustered))

    @property
    def roles(self) -> Roles:
        """The four roles of the vault, and what they are granted on."""
        named = (self.warehouse, self.assisted_warehouse, self.backfill_warehouse)
        return Roles(self.database, tuple(dict.fromkeys(name for name in named if name)), self.role_prefix)

    @property
    def told(self) -> str:
        """Who is connecting to what, for messages; no secrets."""
        return f"user {self.user} (role {self.role or 'default'}) to account {self.account}, database {self.database}"

    def warehouse_for(self, *, assisted: bool = False, backfill: bool = False) -> str | None:
        """The warehouse for a kind of work: the bigger ones when they are named."""
        if backfill and self.backfill_warehouse:
            return self.backfill_warehouse.upper()
        if assisted and self.assisted_warehouse:
            return self.assisted_warehouse.upper()
        return self.warehouse.upper() if self.warehouse else None

    def session_parameters(self) -> dict[str, Any]:
        """What every session is set to when it starts, whatever the account's or the user's defaults are."""
        return {
            "TIMEZONE": "UTC",
            "TIMESTAMP_TYPE_MAPPING": "TIMESTAMP_NTZ",
            "CLIENT_TIMESTAMP_TYPE_MAPPING": "TIMESTAMP_NTZ",
            "TIMESTAMP_INPUT_FORMAT": "AUTO",
            "DATE_INPUT_FORMAT": "AUTO",
            "BINARY_INPUT_FORMAT": "HEX",
            "QUOTED_IDENTIFIERS_IGNORE_CASE": False,
            "AUTOCOMMIT": True,
            "TRANSACTION_ABORT_ON_ERROR": True,
            "ABORT_DETACHED_QUERY": True,
            "LOCK_TIMEOUT": self.lock_timeout,
            "STATEMENT_TIMEOUT_IN_SECONDS": self.statement_timeout,
            "QUERY_TAG": '{"app": "xts"}',
        }

    def connection_arguments(self) -> dict[str, Any]:
        """The arguments of `snowflake.connector.connect`; DeclarationError when the private key cannot be read."""
        given = {
            "account": self.account,
            "user": self.user,
            "role": self.role and self.role.upper(),
            "warehouse": self.warehouse and self.warehouse.upper(),
            "database": self.database.upper(),
            "schema": self.vault_schema.upper(),
            "authenticator": self.authenticator,
            "password": self.password,
            "token": self.token,
            "private_key": self.private_key_der(),
            "login_timeout": self.login_timeout,
            "application": "xts_pipeline",
        }
        parameters = {**self.session_parameters(), **self.connection.get("session_parameters", {})}
        set_ones = {name: value for name, value in given.items() if value is not None}
        return {**set_ones, **self.connection, "session_parameters": parameters}

    def private_key_der(self) -> bytes | None:
        """The private key as the connector takes it: DER, decrypted. DeclarationError says what is wrong with it."""
        key = self._key()
        return bytes(key.private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption())) if key else None

    def private_key_pem(self) -> str | None:
        """The private key as Dagster's resource takes it: PEM, decrypted; DeclarationError as above."""
        key = self._key()
        return str(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()) if key else None

    def _key(self) -> Any:
        if self.private_key_path is not None:
            try:
                content = Path(self.private_key_path).expanduser().read_bytes()
            except OSError as error:
                raise DeclarationError(f"private_key_path {self.private_key_path}: {error.strerror}") from error
        elif self.private_key is not None:
            content = _pem_of(self.private_key)
        else:
            return None
        secret = self.private_key_passphrase.encode() if self.private_key_passphrase else None
        load = load_pem_private_key if b"-----BEGIN" in content else load_der_private_key
        try:
            return load(content, secret)
        except (ValueError, TypeError) as error:
            raise DeclarationError(
                f"{self.private_key_path or 'private_key'} cannot be read as a private key: {error}. An encrypted one "
                f"needs private_key_passphrase; see {KEY_PAIR_DOCS}"
            ) from error

    @classmethod
    def read(cls, given: Mapping[str, Any], environment: Mapping[str, str] = os.environ) -> SnowflakeSettings:
        """Settings from what is given and, for what is not, the environment.

        The connection's from Snowflake's own variables (SNOWFLAKE_ACCOUNT, ...), all others from XTS_SNOWFLAKE_<FIELD>;
        lists are separated by commas. DeclarationError names the field and the variable.
        """
        values: dict[str, Any] = {}
        for name in cls.model_fields:
            variable = OF_THE_CONNECTOR.get(name, f"XTS_SNOWFLAKE_{name.upper()}")
            if (found := environment.get(variable)) and name != "connection":
                values[name] = found
        values |= {name: value for name, value in given.items() if value is not None}
        if {"private_key", "private_key_path"} & given.keys():  # what is given outdoes the environment's other way
            values = {
                name: value
                for name, value in values.items()
                if name not in {"private_key", "private_key_path"} or name in given
            }
        for name in ("transient", "clustered"):
            if isinstance(values.get(name), str):
                values[name] = tuple(part.strip() for part in values[name].split(",") if part.strip())
        try:
            return cls.model_validate(values)
        except ValidationError as error:
            raise DeclarationError(_told(error)) from None


def settings_of_url(
    url: str, environment: Mapping[str, str] = os.environ, given: Mapping[str, Any] | None = None
) -> SnowflakeSettings:
    """Settings from `snowflake://`, where everything comes from the environment, or from a URL that names some of it.

    `snowflake://user@account/database/schema?role=LOADER&warehouse=LOADING&private_key_path=~/key.p8`: any part may be
    left out, and any other field stands behind the question mark. `given` outdoes the URL. DeclarationError when it is
    no such URL.
    """
    parts = urlsplit(url)
    if parts.scheme != "snowflake":
        raise DeclarationError(f"warehouse {url!r}: write snowflake://user@account/database/schema?role=...")
    if parts.password is not None:
        raise DeclarationError(f"warehouse snowflake://...: no password stands in a URL; see {KEY_PAIR_DOCS}")
    path = [unquote(part) for part in parts.path.split("/") if part]
    account = parts.netloc.rpartition("@")[2]
    asked: dict[str, Any] = dict(parse_qsl(parts.query))
    if unknown := sorted(asked.keys() - SnowflakeSettings.model_fields.keys()):
        raise DeclarationError(
            f"warehouse snowflake://...: {', '.join(unknown)} is no setting of a Snowflake warehouse"
        )
    named = {"account": account or None, "user": parts.username and unquote(parts.username)}
    named |= dict(zip(("database", "vault_schema"), path, strict=False))
    if len(path) > 2:
        raise DeclarationError("warehouse snowflake://...: behind the account stand a database and a schema, no more")
    of_url = {**asked, **{name: value for name, value in named.items() if value}}
    return SnowflakeSettings.read({**of_url, **(given or {})}, environment)


def _pem_of(text: str) -> bytes:
    """A PEM as it is, also with its newlines written as \\n; else what a base64 of one holds."""
    plain = text.replace("\\n", "\n").strip()
    if "-----BEGIN" in plain:
        return plain.encode()
    try:
        return base64.b64decode(plain, validate=False)
    except (binascii.Error, ValueError):
        return plain.encode()


def _told(error: ValidationError) -> str:
    """Each fault with its field, and the variable that may set it."""
    lines = []
    for fault in error.errors(include_url=False, include_input=False):
        field = ".".join(str(part) for part in fault["loc"])
        variable = OF_THE_CONNECTOR.get(field, f"XTS_SNOWFLAKE_{field.upper()}")
        where = f"{field} (${variable}): " if field else ""
        lines.append(f"{where}{fault['msg'].removeprefix('Value error, ')}")
    return "Snowflake: " + "; ".join(lines)
