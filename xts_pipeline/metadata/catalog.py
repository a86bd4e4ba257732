"""All declared sources together: reading them from YAML or dicts, and the rules that hold between them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import ValidationError

from xts_pipeline.errors import DeclarationError
from xts_pipeline.metadata.declaration import SourceDeclaration
from xts_pipeline.metadata.model import Satellite, SourceModel
from xts_pipeline.metadata.operation import OperatedSource

COMPONENT_TYPE = "xts_pipeline.XtsSource"
_PACKAGE = COMPONENT_TYPE.partition(".")[0] + "."


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]  # in C it is several times faster
    """Reads YAML, and refuses a mapping that holds a key twice, of which the first would be lost."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        keys = [key.value for key, _ in node.value]
        if twice := sorted({str(key) for key in keys if keys.count(key) > 1}):
            raise yaml.constructor.ConstructorError(None, None, f"{', '.join(twice)} stands twice", node.start_mark)
        made: dict[Any, Any] = super().construct_mapping(node, deep)
        return made


Declared = TypeVar("Declared", bound=SourceDeclaration)


def read_declaration(declared: Mapping[str, Any] | SourceDeclaration | str | Path) -> SourceDeclaration:
    """Read one source from a dict, or from a YAML file with the same keys.

    A file in Dagster's component form (`type: xts_pipeline.XtsSource`, `attributes: ...`) is read too. A relative
    `delivery.path` is taken from the folder of the file. DeclarationError names file, field and what to write.
    """
    if isinstance(declared, SourceDeclaration):
        return declared
    if not isinstance(declared, Mapping | str | Path):
        raise DeclarationError(f"a source is a dict or the path of a YAML file, not {declared!r}")
    if isinstance(declared, Mapping):
        return _validated(declared, f"source {declared.get('source', '(unnamed)')}", SourceDeclaration)
    content, path = _read_yaml(Path(declared)), Path(declared)
    if content.get("type") == COMPONENT_TYPE:
        return read_component(path).declaration
    return _validated(with_absolute_path(content, path.parent), str(path), SourceDeclaration)


def read_component(path: Path) -> OperatedSource:
    """Read a file in Dagster's component form, with what it says of running the source; errors as above."""
    attributes = _read_yaml(path).get("attributes")
    if not isinstance(attributes, Mapping):
        raise DeclarationError(f"{path}: `attributes:` is missing; the source is declared below it")
    return _validated(with_absolute_path(attributes, path.parent), str(path), OperatedSource)


def is_component(path: Path) -> bool:
    """Whether a YAML file declares a source in Dagster's component form; one that names no such type is not parsed.

    DeclarationError for a type of this package that it has not: a source must not be missed for a slip of the pen.
    """
    if _PACKAGE.encode() not in path.read_bytes():
        return False
    named = _read_yaml(path).get("type")
    if isinstance(named, str) and named.startswith(_PACKAGE) and named != COMPONENT_TYPE:
        raise DeclarationError(f"{path}: there is no type {named}; write `type: {COMPONENT_TYPE}`")
    return bool(named == COMPONENT_TYPE)


def _read_yaml(path: Path) -> Mapping[str, Any]:
    try:
        content = yaml.load(path.read_text(encoding="utf-8"), _Loader)
    except OSError as error:
        raise DeclarationError(f"{path}: the declaration cannot be read: {error.strerror or error}") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise DeclarationError(f"{path}: this is no YAML: {error}") from error
    if not isinstance(content, Mapping):
        raise DeclarationError(f"{path}: a source is a mapping that begins with `source: <name>`")
    return content


def with_absolute_path(content: Mapping[str, Any], folder: Path) -> Mapping[str, Any]:
    """What a file in `folder` declares, its `delivery.path` taken from there."""
    delivery = content.get("delivery")
    if isinstance(delivery, Mapping) and isinstance(delivery.get("path"), str):
        return {**content, "delivery": {**delivery, "path": str(folder / delivery["path"])}}
    return content


_TOLD = {  # what pydantic calls a fault: what is said of it
    "extra_forbidden": "there is no such field; see `xts fields` for those there are",
    "missing": "this field is missing",
    "model_type": "write a mapping of its fields; see `xts fields` for those there are",
    "dict_type": "write a mapping, a line a name, and not {found!r}",
    "list_type": "write a list, each item behind a dash, and not {found!r}",
    "tuple_type": "write a list, each item behind a dash, and not {found!r}",
    "string_type": "write a text: {found!r} is none, unless it stands in quotes",
    "literal_error": "write {expected}, and not {found!r}",
    "bool_parsing": "write true or false, and not {found!r}",
    "int_parsing": "write a whole number, and not {found!r}",
    "dataclass_type": "write a type like text or decimal(12, 2), and not {found!r}",
}


def _validated(content: Mapping[str, Any], where: str, form: type[Declared]) -> Declared:
    try:
        return form.model_validate(dict(content))
    except ValidationError as error:
        raise DeclarationError(f"{where} is not declared right:\n" + "\n".join(_explained(error))) from None


def _explained(error: ValidationError) -> Iterable[str]:
    """One line a fault: the field as a path, and what is wrong in plain words."""
    for fault in error.errors(include_url=False):
        field = ".".join(str(part) for part in fault["loc"]) or "the whole"
        if fault["type"] in _TOLD:
            told = _TOLD[fault["type"]].format(found=fault["input"], **fault.get("ctx", {}))
        else:
            told = fault["msg"].removeprefix("Value error, ")
        yield f"  {field}: {told}"


class Catalog:
    """The declared sources, by name, after the rules between them were checked."""

    def __init__(self, declarations: Iterable[SourceDeclaration]) -> None:
        self.sources: dict[str, SourceModel] = {}
        for declaration in declarations:
            if declaration.source.lower() in {name.lower() for name in self.sources}:
                raise DeclarationError(f"source {declaration.source} is declared twice")
            self.sources[declaration.source] = SourceModel(declaration)
        models = list(self.sources.values())
        _check_staged_names(models)
        _check_one_source_a_satellite(models)
        _check_same_keys(models)
        _check_same_links(models)
        _check_one_algorithm(models)

    @classmethod
    def read(cls, sources: Iterable[Mapping[str, Any] | SourceDeclaration | str | Path]) -> Catalog:
        """Read and check all of them; DeclarationError as in `read_declaration`."""
        return cls([read_declaration(source) for source in sources])

    @property
    def hash_algorithm(self) -> str:
        """The one algorithm of the vault; sha256 when there are no sources."""
        return next((model.declaration.hash_algorithm for model in self.sources.values()), "sha256")

    def source(self, name: str) -> SourceModel:
        """The source of that name; DeclarationError lists those there are."""
        if name not in self.sources:
            raise DeclarationError(f"source {name} is not declared; declared are: {', '.join(sorted(self.sources))}")
        return self.sources[name]

    def satellite(self, name: str) -> tuple[SourceModel, Satellite]:
        """A satellite and the source that feeds it; DeclarationError lists those there are."""
        for model in self.sources.values():
            for satellite in model.satellites:
                if satellite.name == name:
                    return model, satellite
        known = sorted(satellite.name for model in self.sources.values() for satellite in model.satellites)
        raise DeclarationError(f"satellite {name} is not declared; declared are: {', '.join(known)}")


def _check_staged_names(models: list[SourceModel]) -> None:
    for model in models:
        keys = [key.lower() for key in model.staged_hash_keys]
        if clash := sorted({key for key in keys if keys.count(key) > 1}):
            raise DeclarationError(
                f"source {model.name}: {', '.join(clash)} would hold two hash keys: rename a role, it reads like a hub"
            )


def _check_one_source_a_satellite(models: list[SourceModel]) -> None:
    owner: dict[str, str] = {}
    for model in models:
        for satellite in model.satellites:
            if (other := owner.setdefault(satellite.name.lower(), model.name)) != model.name:
                raise DeclarationError(
                    f"satellite {satellite.name} is declared by {other} and {model.name}: "
                    "a satellite has one source; give each its own and join them in a view"
                )


def _check_same_keys(models: list[SourceModel]) -> None:
    """A hub has the same business key columns and types, whoever feeds it."""
    seen: dict[str, tuple[str, dict[str, str]]] = {}
    spelled: dict[str, str] = {}
    for model in models:
        for hub in model.declaration.hubs:
            types = {
                column: str(model.declared_types.get(hub.source_columns.get(column, column), "inferred"))
                for column in hub.business_key
            }
            spelled.setdefault(hub.hub.lower(), hub.hub)
            if spelled[hub.hub.lower()] != hub.hub:
                raise DeclarationError(
                    f"hub {hub.hub} is also spelled {spelled[hub.hub.lower()]}: SQL takes them for one"
                )
            first, known = seen.setdefault(hub.hub.lower(), (f"{model.name}", types))
            if known.keys() != types.keys():
                raise DeclarationError(
                    f"hub_{hub.hub}: the business key is [{', '.join(known)}] in {first} and "
                    f"[{', '.join(types)}] in {model.name}; name one hub column each and map the source's own "
                    "names with source_columns"
                )
            for column in types:
                if known[column] != types[column] and "inferred" not in {known[column], types[column]}:
                    raise DeclarationError(
                        f"hub_{hub.hub}: business key column {column} is {known[column]} in {first} and "
                        f"{types[column]} in {model.name}: declare one type in both"
                    )


def _check_same_links(models: list[SourceModel]) -> None:
    seen: dict[str, tuple[str, tuple[tuple[str, str], ...]]] = {}
    for model in models:
        for link in model.links:
            sides = tuple((hub.table, hub.staged_hash_key) for hub in link.hubs)
            first, known = seen.setdefault(link.table.lower(), (model.name, sides))
            if known != sides:
                raise DeclarationError(
                    f"{link.table} joins {', '.join(table for table, _ in known)} in {first} and "
                    f"{', '.join(table for table, _ in sides)} in {model.name}: declare the same hubs in one order"
                )


def _check_one_algorithm(models: list[SourceModel]) -> None:
    algorithms = {model.declaration.hash_algorithm: model.name for model in models}
    if len(algorithms) > 1:
        named = ", ".join(f"{algorithm} in {name}" for algorithm, name in sorted(algorithms.items()))
        raise DeclarationError(f"hash_algorithm is {named}: keys of one vault must be made alike")
