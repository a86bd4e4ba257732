"""Every error the pipeline raises on purpose; each message is written for the person who must act on it."""

from __future__ import annotations


class XtsError(Exception):
    """Base of all errors raised on purpose by this package."""


class DeclarationError(XtsError, ValueError):
    """What a user declared (YAML or dict) breaks a rule; the message names file, field and what to write instead."""


class DeliveryError(XtsError, ValueError):
    """A delivery cannot be loaded as it is; the message names source, file, column, the first rows and the count."""


class UnreachableError(DeliveryError):
    """The database that holds a delivery cannot be reached now; nothing says that the delivery itself is wrong."""


class ContradictionError(DeliveryError):
    """Two states of one key at one applied timestamp in one batch, and nothing declared that could choose."""


class NotStagedError(XtsError, LookupError):
    """A cycle was asked for a partition that no batch was staged for."""


class BatchStateError(XtsError):
    """The batch is not in the state the call needs (abandoned, already writing, or its source is gone)."""


class WarehouseError(XtsError):
    """The warehouse cannot be opened; the message holds what the engine said."""


class WarehouseBusyError(WarehouseError):
    """Another writer held the rows this transaction needs, and still did after all retries."""


class IntegrityError(XtsError):
    """The warehouse holds something the pipeline never writes; nothing was changed."""
