-- Makes a satellite known. Inserts one row.
insert into "CONTROL"."SATELLITE" (satellite, source, hangs_on, xts_assisted)
values (%(satellite)s, %(source)s, %(hangs_on)s, %(xts_assisted)s)
