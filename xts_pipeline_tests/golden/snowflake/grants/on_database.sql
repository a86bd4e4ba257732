-- Lets a role see the database, and the owner make schemas in it. Touches no rows.
grant usage, create schema on database "DATA_VAULT" to role "XTS_OWNER"
