"""The sources of the vault: one folder each, with its declaration in defs.yaml."""
