"""The Dagster layer: a source's component, its staging asset, its load cycle, and their checks."""
