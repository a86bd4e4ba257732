-- Records a setting of the vault. Inserts one row.
insert into "control"."setting" (name, value)
values ($name, $value)
