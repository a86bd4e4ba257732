-- Takes a lock, on an engine that locks a table as a whole: whoever changes its row first goes on, and another writer
-- waits for the commit. Touches the one row of one lock.
update "CONTROL"."LOCK_OF_SOURCE_BANK" set marked_at = %(now)s
