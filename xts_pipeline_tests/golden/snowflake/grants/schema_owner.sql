-- Gives a schema to the owner role, which makes every table in it. Touches no rows.
grant ownership on schema "DATA_VAULT"."VAULT" to role "XTS_OWNER" copy current grants
