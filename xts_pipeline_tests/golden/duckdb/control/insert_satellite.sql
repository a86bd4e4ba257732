-- Makes a satellite known. Inserts one row.
insert into "control"."satellite" (satellite, source, hangs_on, xts_assisted)
values ($satellite, $source, $hangs_on, $xts_assisted)
