-- Records a setting of the vault. Inserts one row.
insert into "CONTROL"."SETTING" (name, value)
values (%(name)s, %(value)s)
