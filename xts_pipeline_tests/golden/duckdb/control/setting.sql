-- One setting of the vault. Reads only.
select value from "control"."setting" where name = $name
