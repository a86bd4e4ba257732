-- Begins a write to a table of the vault where a lock is a row: its writers are serialised by its row. Touches that row.
update "control"."target_table"
set marked_at = $now
where target_table = $target_table
