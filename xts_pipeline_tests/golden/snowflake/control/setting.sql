-- One setting of the vault. Reads only.
select value from "CONTROL"."SETTING" where name = %(name)s
