-- Makes a schema in which its owner alone grants: whoever makes a table there cannot give it away. Touches no rows.
create schema if not exists "DATA_VAULT"."VAULT" with managed access
