-- Makes a role. Touches no rows.
create role if not exists "XTS_OWNER"
