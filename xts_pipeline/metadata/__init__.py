"""What a user declares, the rules it must keep, and the names that follow from it."""

from xts_pipeline.metadata.catalog import Catalog, read_declaration
from xts_pipeline.metadata.declaration import SourceDeclaration
from xts_pipeline.metadata.model import Hub, Link, Parent, Satellite, SourceModel
from xts_pipeline.metadata.operation import OperatedSource
from xts_pipeline.metadata.types import ColumnType

__all__ = [
    "Catalog",
    "ColumnType",
    "Hub",
    "Link",
    "OperatedSource",
    "Parent",
    "Satellite",
    "SourceDeclaration",
    "SourceModel",
    "read_declaration",
]
