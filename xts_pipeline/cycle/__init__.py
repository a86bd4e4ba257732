"""The load cycle of one batch, a module a step: SWITCH, XTS insert, satellites, hubs, links."""

from xts_pipeline.cycle.batch import finish_batch, run_cycle
from xts_pipeline.cycle.hub import merge_hub
from xts_pipeline.cycle.link import merge_link
from xts_pipeline.cycle.satellite import load_satellite, loading_statement
from xts_pipeline.cycle.step import StepResult
from xts_pipeline.cycle.switch import ASSISTED, NORMAL, switch
from xts_pipeline.cycle.xts import insert_xts

__all__ = [
    "ASSISTED",
    "NORMAL",
    "StepResult",
    "finish_batch",
    "insert_xts",
    "load_satellite",
    "loading_statement",
    "merge_hub",
    "merge_link",
    "run_cycle",
    "switch",
]
