-- Lets a role see a schema. Touches no rows.
grant usage on schema "DATA_VAULT"."VAULT" to role "XTS_LOADER"
