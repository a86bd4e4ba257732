-- Begins a write to a table of the vault: its writers are serialised by its row. Touches that row.
update "CONTROL"."TARGET_TABLE"
set marked_at = %(now)s
where target_table = %(target_table)s
