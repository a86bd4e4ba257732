-- Makes one of the three schemas. Touches no rows.
create schema if not exists "vault"
