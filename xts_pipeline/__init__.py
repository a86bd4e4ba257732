"""Data Vault satellites whose timeline is right whatever order the data arrives in."""

from xts_pipeline.vault import LoadResult, SatelliteResult, Vault

__all__ = ["LoadResult", "SatelliteResult", "Vault"]
