"""What a declaration may hold, and what each refusal says: file, field, and what to write instead."""

from __future__ import annotations

import copy
import re
from pathlib import Path
from typing import Any

import pytest

from xts_pipeline.errors import DeclarationError
from xts_pipeline.metadata import Catalog, ColumnType, read_declaration
from xts_pipeline.metadata.catalog import is_component
from xts_pipeline.metadata.declaration import SourceDeclaration

YAML = """
source: sapbw_customer
record_source: SAPBW
applied_timestamp: extract_date
hubs:
  - {hub: customer, business_key: [customer_id]}
satellites:
  - name: sat_sapbw_address
    parent: {hub: customer}
    columns: [street, city, postcode]
    xts_assisted: true
delivery: {path: "data/{partition}.csv"}
"""
GOOD: dict[str, Any] = {
    "source": "crm",
    "record_source": "CRM",
    "applied_timestamp": "day",
    "hubs": [{"hub": "customer", "business_key": {"customer_id": "text"}}],
    "satellites": [{"name": "sat_crm", "parent": {"hub": "customer"}, "columns": ["city"]}],
}


def changed(path: str, value: object) -> dict[str, Any]:
    """GOOD with one field changed: `satellites.0.name`."""
    declared = copy.deepcopy(GOOD)
    *steps, last = path.split(".")
    place: Any = declared
    for step in steps:
        place = place[int(step)] if step.isdigit() else place[step]
    place[last] = value
    return declared


def test_a_yaml_file_and_dagsters_component_form_read_alike(tmp_path: Path) -> None:
    plain = tmp_path / "plain.yaml"
    plain.write_text(YAML)
    component = tmp_path / "defs.yaml"
    component.write_text("type: xts_pipeline.XtsSource\nattributes:" + YAML.replace("\n", "\n  "))
    first, second = read_declaration(plain), read_declaration(component)
    assert first == second
    assert first.satellites[0].xts_assisted
    assert first.delivery is not None
    assert first.delivery.path == str(tmp_path / "data/{partition}.csv")


def test_xts_assisted_is_true_unless_said_otherwise() -> None:
    assert read_declaration(GOOD).satellites[0].xts_assisted is True


REFUSED = {
    "satellites.0.name": [
        ("address", "satellites.0.name: a satellite is named sat_<...>"),
        ("sat_xt_hub_customer", "sat_xt_ is kept for the XTS"),
        ("sat_" + "x" * 252, "the name is the record target of its XTS rows and holds 256 characters"),
        ("sat_a-b", "letters, digits and underscores"),
    ],
    "satellites.0.parent": [
        ({"hub": "account"}, "has the parent account, which this source does not declare; declared are: customer"),
        ({"hub": "customer", "link": "x"}, "name one parent"),
        ({}, "name one parent"),
    ],
    "satellites.0.columns": [
        ({"city": 3}, "columns.city: write a type like text or decimal(12, 2), and not 3"),
        (["dv_sid"], "names that begin with dv_ are the vault's own"),
        (["DV_HASHDIFF"], "names that begin with dv_ are the vault's own"),
        (["first name"], "is no column name"),
        (["city", "City"], "column City is also spelled city"),
        (["city", "city"], "column city is listed twice"),
        ({"city": "varchr"}, "'varchr' is no type of this project: write text, integer, decimal"),
        ({"city": "decimal"}, "write decimal(precision, scale)"),
        ({"city": "decimal(39,2)"}, "1 to 38 digits"),
        ("city", "write a list, [city]"),
        ([], "satellites.0.columns"),
    ],
    "satellites.0.loading_mode": [("kappa", "kappa has no batch boundary at which to ask the SWITCH")],
    "hubs.0.hub": [("hub_customer", "write the name without its prefix: 'customer'")],
    "hubs.0.business_key": [
        ({"customer_id": "double"}, "is a binary float, which has no exact text"),
        (["dv_id"], "names that begin with dv_ are the vault's own"),
        ([], "hubs.0.business_key"),
    ],
    "hubs": [
        ({"hub": "customer"}, "hubs: write a list, each item behind a dash, and not {'hub': 'customer'}"),
        ([GOOD["hubs"][0], GOOD["hubs"][0]], "hub or role customer is declared twice; give the second hub a role"),
    ],
    "links": [
        ([{"link": "x", "hubs": ["customer", "account"]}], "links: x joins account: declare it under hubs"),
        (
            [{"link": "x", "hubs": ["customer", "customer"]}],
            "joins a hub to itself: declare the second side with a role",
        ),
        ([{"link": "lnk_x", "hubs": ["customer", "a"]}], "write the name without its prefix: 'x'"),
    ],
    "source": [
        ("a b", "letters, digits and underscores"),
        ("a__rows", "kept for the staged tables"),
    ],
    "timezone": [("Zurich", "'Zurich' is no IANA time zone: write one like Europe/Zurich")],
    "on_error": [("ignore", "on_error: write 'stop' or 'quarantine', and not 'ignore'")],
    "tenant_id": [(5, "tenant_id: write a text: 5 is none, unless it stands in quotes")],
    "satellites.0.xts_assisted": [("perhaps", "xts_assisted: write true or false, and not 'perhaps'")],
    "applied_timestmp": [("day", "applied_timestmp: there is no such field")],
    "types": [({"day": "integer"}, "it is a date, a timestamp or text that holds one")],
    "delivery": [({"url": "sqlite:///x"}, "a url goes with a query"), ({}, "name a path, or a url with a query")],
}


@pytest.mark.parametrize(
    ("field", "value", "told"), [(field, value, told) for field, cases in REFUSED.items() for value, told in cases]
)
def test_a_declaration_that_breaks_a_rule_is_refused_with_field_and_remedy(
    field: str, value: object, told: str
) -> None:
    with pytest.raises(DeclarationError) as raised:
        read_declaration(changed(field, value))
    assert told in str(raised.value)
    assert "source " in str(raised.value)


def test_a_record_target_of_255_characters_is_accepted() -> None:
    assert read_declaration(changed("satellites.0.name", "sat_" + "x" * 251))


def test_kappa_is_accepted_where_no_xts_is_kept() -> None:
    satellite = {**GOOD["satellites"][0], "loading_mode": "kappa", "xts_assisted": False}
    assert read_declaration({**GOOD, "satellites": [satellite]})


@pytest.mark.parametrize(
    ("text", "told"),
    [("- a\n- b\n", "a source is a mapping"), ("a: [", "this is no YAML"), ("", "a source is a mapping")],
)
def test_a_file_that_is_no_declaration_is_named(tmp_path: Path, text: str, told: str) -> None:
    file = tmp_path / "broken.yaml"
    file.write_text(text)
    with pytest.raises(DeclarationError, match=told) as raised:
        read_declaration(file)
    assert str(file) in str(raised.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(DeclarationError, match=r"nowhere\.yaml: the declaration cannot be read"):
        read_declaration(tmp_path / "nowhere.yaml")


def other(**changes: Any) -> dict[str, Any]:
    return {**GOOD, "source": "erp", "satellites": [{**GOOD["satellites"][0], "name": "sat_erp"}], **changes}


BETWEEN_SOURCES = {
    "two sources of one name": ({**GOOD}, "source crm is declared twice"),
    "one satellite of two sources": (other(satellites=GOOD["satellites"]), "a satellite has one source"),
    "other key columns of one hub": (
        other(hubs=[{"hub": "customer", "business_key": {"number": "text"}}]),
        "the business key is [customer_id] in crm and [number] in erp; name one hub column each and map",
    ),
    "other key types of one hub": (
        other(hubs=[{"hub": "customer", "business_key": {"customer_id": "integer"}}]),
        "business key column customer_id is text in crm and integer in erp",
    ),
    "another hash algorithm": (other(hash_algorithm="sha1"), "keys of one vault must be made alike"),
}


@pytest.mark.parametrize("name", BETWEEN_SOURCES)
def test_rules_between_sources(name: str) -> None:
    second, told = BETWEEN_SOURCES[name]
    with pytest.raises(DeclarationError) as raised:
        Catalog.read([GOOD, second])
    assert told in str(raised.value)


def test_a_source_may_name_a_hubs_key_otherwise() -> None:
    hub = {"hub": "customer", "business_key": {"customer_id": "text"}, "source_columns": {"customer_id": "kunnr"}}
    catalog = Catalog.read([GOOD, other(hubs=[hub])])
    assert catalog.source("erp").columns == ("kunnr", "city", "day")


def test_a_role_that_reads_like_another_hub_is_refused() -> None:
    hubs = [
        {"hub": "customer", "business_key": ["a"]},
        {"hub": "customer", "business_key": ["a"], "role": "x", "source_columns": {"a": "b"}},
        {"hub": "customer_x", "business_key": ["c"]},
    ]
    with pytest.raises(DeclarationError, match="dv_hashkey_hub_customer_x would hold two hash keys"):
        Catalog.read([{**GOOD, "hubs": hubs, "satellites": []}])


def test_every_field_is_described() -> None:
    def fields(model: Any) -> Any:
        for name, field in model.model_fields.items():
            yield f"{model.__name__}.{name}", field.description

    from xts_pipeline.metadata import declaration as d

    models = [d.HubDeclaration, d.LinkDeclaration, d.ParentReference, d.SatelliteDeclaration, d.DeliveryDeclaration]
    described = dict(pair for model in [SourceDeclaration, *models] for pair in fields(model))
    assert all(described.values()), [name for name, text in described.items() if not text]


@pytest.mark.parametrize(
    "text", ["text", "varchar", "integer", "BIGINT", "decimal( 10 , 2 )", "date", "timestamp", "blob"]
)
def test_a_type_survives_its_own_spelling_and_arrow(text: str) -> None:
    parsed = ColumnType.parse(text)
    assert ColumnType.parse(str(parsed)) == parsed
    assert ColumnType.of_arrow(parsed.arrow) == parsed


COMPONENT = """type: xts_pipeline.XtsSource
attributes:
  source: shop
  record_source: SHOP
  applied_timestamp: day
  hubs: [{hub: customer, business_key: {id: text}}]
"""


@pytest.mark.parametrize(
    ("slip", "told"),
    [
        (COMPONENT + "  record_source: OTHER\n", "record_source stands twice"),
        (COMPONENT.replace("XtsSource", "XtsSorce"), "there is no type xts_pipeline.XtsSorce"),
        (COMPONENT + "  freshness: {max_age: 26}\n", "26 is no duration"),
        (COMPONENT + "  freshness: {max_age: 999999999999d}\n", "longer than a calendar"),
        (COMPONENT + '  schedule: "0 6 * * *"\n', "schedule: write a mapping of its fields"),
    ],
)
def test_a_slip_in_a_component_file_names_the_file_and_what_to_write(tmp_path: Path, slip: str, told: str) -> None:
    file = tmp_path / "defs.yaml"
    file.write_text(slip)
    with pytest.raises(DeclarationError, match=re.escape(told)) as caught:
        Catalog.read(path for path in [file] if is_component(path))
    assert str(file) in str(caught.value)
