"""Sources of every shape: several into one hub, links, roles, satellites without XTS or none at all."""

from __future__ import annotations

from typing import Any

import dagster as dg

from xts_pipeline_tests.orchestration.project import CASE, FOUR, Project, materialized, metadata_of, steps_of

OTHER = {
    "source": "other",
    "record_source": "OTHER",
    "applied_timestamp": "day",
    "hubs": [{"hub": "customer", "business_key": {"id": "text"}}],
    "satellites": [{"name": "sat_other_city", "parent": {"hub": "customer"}, "columns": {"city": "text"}}],
    "owners": ["team:data-vault"],
    "group": "customers",
}
ORDERS = {
    "source": "orders",
    "record_source": "SHOP",
    "applied_timestamp": "day",
    "hubs": [
        {"hub": "customer", "business_key": {"id": "text"}},
        {"hub": "customer", "role": "referrer", "business_key": {"id": "text"}, "source_columns": {"id": "referrer"}},
        {"hub": "account", "business_key": {"account": "text"}},
    ],
    "links": [{"link": "customer_account", "hubs": ["customer", "referrer", "account"]}],
    "satellites": [
        {"name": "sat_orders_share", "parent": {"link": "customer_account"}, "columns": {"share": "integer"}},
        {"name": "sat_orders_plan", "parent": {"hub": "account"}, "columns": {"plan": "text"}, "xts_assisted": False},
    ],
}
ORDERS_HEADER = ("id", "referrer", "account", "day", "share", "plan")
ORDERS_ROWS = [(1, 2, "A", "2021-01-01", 10, "gold"), (3, 1, "B", "2021-01-01", 20, "iron")]


def deps(definitions: dg.Definitions) -> dict[str, set[str]]:
    graph = definitions.resolve_asset_graph()
    return {
        node.key.to_user_string(): {parent.to_user_string() for parent in node.parent_keys}
        for node in graph.asset_nodes
    }


def test_two_sources_into_one_hub_and_one_xts(project: Project) -> None:
    project.declare(CASE, **FOUR).declare(OTHER, **FOUR)
    lineage = deps(project.definitions)
    assert lineage["hub_customer"] == {"case/hub_customer", "other/hub_customer"}
    assert lineage["sat_xt_hub_customer"] == {"case/sat_xt_hub_customer", "other/sat_xt_hub_customer"}

    project.run("case", "d1")
    result = project.run("other", "d1")
    assert ("hub_customer", None) in materialized(result)
    assert metadata_of(result, "hub_customer")["xts/source"] == "other"
    assert metadata_of(result, "other/hub_customer")["xts/inserted"] == 0
    assert metadata_of(result, "sat_other_city")["xts/inserted"] == 2
    for source in ("case", "other"):
        for partition in ("d2", "d3", "d4"):
            project.run(source, partition)
    assert project.timeline("sat_other_city")["city"].equals(project.timeline("sat_case_city")["city"])


def test_links_roles_and_a_satellite_without_xts(project: Project) -> None:
    project.declare(ORDERS, ORDERS_HEADER, o1=ORDERS_ROWS, o2=[(1, 2, "A", "2020-12-31", 5, "wood")])
    lineage = deps(project.definitions)
    satellites = {"sat_orders_share", "sat_orders_plan"}
    assert lineage["sat_orders_share"] == {"orders/xts_switch", "orders/sat_xt_lnk_customer_account"}
    assert lineage["sat_orders_plan"] == {"orders/xts_switch"}
    assert lineage["orders/hub_customer"] == lineage["orders/hub_account"] == satellites
    assert lineage["orders/lnk_customer_account"] == {"orders/hub_customer", "orders/hub_account"}
    assert "orders/sat_xt_hub_account" not in lineage

    first = project.run("orders", "o1")
    assert steps_of(first, "STEP_SKIPPED") == {"sat_orders_share_assisted"}
    assert metadata_of(first, "orders/hub_customer")["xts/inserted"] == 3  # customers and referrers: 1, 2, 3
    assert metadata_of(first, "orders/lnk_customer_account")["xts/inserted"] == 2
    assert [name for name, _ in materialized(first)].count("hub_customer") == 1

    late = project.run("orders", "o2")
    assert metadata_of(late, "sat_orders_share")["xts/branch"] == "assisted"
    assert metadata_of(late, "sat_orders_plan")["xts/branch"] == "normal"
    assert metadata_of(late, "sat_orders_plan")["xts/violations"] == 1
    failed = {(each.asset_key.to_user_string(), each.check_name) for each in failed_checks(late)}
    assert failed == {("sat_orders_share", "sequence_violations"), ("sat_orders_plan", "late_rows")}


def test_a_source_without_satellites(project: Project) -> None:
    project.declare({**ORDERS, "satellites": []}, ORDERS_HEADER, o1=ORDERS_ROWS)
    result = project.run("orders", "o1")
    assert deps(project.definitions)["orders/hub_account"] == {"orders/xts_switch"}
    assert metadata_of(result, "orders/xts_switch")["xts/verdict"] == "normal"
    assert metadata_of(result, "orders/lnk_customer_account")["dagster/row_count"] == 2


def test_owners_groups_kinds_and_descriptions_come_from_the_file(project: Project) -> None:
    described: dict[str, Any] = {**OTHER["satellites"][0], "description": "Where they live."}  # type: ignore[index]
    project.declare(CASE, **FOUR).declare({**OTHER, "satellites": [described]}, **FOUR)
    specs = {spec.key.to_user_string(): spec for spec in project.definitions.resolve_all_asset_specs()}
    assert specs["sat_other_city"].description == "Where they live."
    assert "city" in (specs["sat_case_city"].description or "")
    for key in ("staged/other", "other/xts_switch", "sat_other_city", "other/hub_customer"):
        assert list(specs[key].owners) == ["team:data-vault"]
        assert specs[key].group_name == "customers"
        assert specs[key].kinds == {"duckdb", "datavault"}
    assert specs["sat_case_city"].group_name == "customer"


def failed_checks(result: dg.ExecuteInProcessResult) -> list[dg.AssetCheckEvaluation]:
    return [each for each in result.get_asset_check_evaluations() if not each.passed]
