-- Gives a role its privileges on everything of one kind in a schema, as it is now or as it comes to be. Touches no rows.
grant select, insert on all tables in schema "DATA_VAULT"."VAULT" to role "XTS_LOADER"
