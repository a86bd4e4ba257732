"""`xts fields`: every field a source declaration may have."""

from __future__ import annotations

import types
from collections.abc import Iterator
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import click
from pydantic import BaseModel, BeforeValidator
from pydantic.fields import FieldInfo

from xts_pipeline.cli.output import print_json, print_table, say
from xts_pipeline.metadata import ColumnType, SourceDeclaration
from xts_pipeline.metadata.operation import OperatedSource
from xts_pipeline.metadata.types import ALLOWED


@click.command(short_help="List every field of a source declaration.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON for machines.")
def fields(as_json: bool) -> None:
    """List every field of a source declaration, with what it means."""
    found = list(_fields(OperatedSource))
    if as_json:
        print_json({"fields": found, "column_types": ALLOWED})
        return
    print_table(
        ["field", "value", "default", "meaning"],
        [(of["field"], of["type"], "required" if of["required"] else of["default"], of["description"]) for of in found],
    )
    say(f"Column types: {ALLOWED}.")
    say("[]: a list of these. A file is this mapping, or Dagster's component form (type, attributes) around it.")


def _fields(model: type[BaseModel], path: str = "") -> Iterator[dict[str, Any]]:
    for name, info in model.model_fields.items():
        inner, listed = _inner_model(info.annotation)
        field = f"{path}{name}{'[]' if listed else ''}"
        for_dagster = model is OperatedSource and name not in SourceDeclaration.model_fields
        yield {
            "field": field,
            "type": "mapping" if inner else _type_of(info),
            "required": info.is_required(),
            "default": None if info.is_required() else _default(info),
            "description": f"{info.description or ''}{' (Dagster)' if for_dagster else ''}",
        }
        if inner:
            yield from _fields(inner, f"{field}.")


def _default(info: FieldInfo) -> str:
    value = info.get_default(call_default_factory=True, validated_data={})
    if isinstance(value, bool):
        return str(value).lower()
    return "none" if value is None or value in ([], {}) else str(value)


def _inner_model(annotation: Any) -> tuple[type[BaseModel] | None, bool]:
    """The model a field holds, and whether it holds a list of them."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation, False
    for argument in get_args(annotation):
        inner, listed = _inner_model(argument)
        if inner is not None:
            return inner, listed or get_origin(annotation) is list
    return None, False


def _type_of(info: FieldInfo) -> str:
    spelled = _spelled(info.annotation)
    takes_list = any(isinstance(rule, BeforeValidator) for rule in info.metadata)
    return f"list, or {spelled}" if takes_list and get_origin(info.annotation) is dict else spelled


def _spelled(annotation: Any) -> str:
    """A type as the writer of YAML thinks of it."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _spelled(arguments[0])
    if origin is Literal:
        return " | ".join(str(value) for value in arguments)
    if origin in {Union, types.UnionType}:
        return " | ".join(_spelled(of) for of in arguments if of is not type(None))
    if origin is list:
        return f"list of {_spelled(arguments[0])}"
    if origin is dict:
        return f"mapping to {_spelled(arguments[1])}"
    names = {str: "text", bool: "true | false", int: "number", ColumnType: "type"}
    return names.get(annotation, getattr(annotation, "__name__", str(annotation)))
