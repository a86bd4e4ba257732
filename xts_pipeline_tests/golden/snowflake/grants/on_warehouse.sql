-- Lets a role compute. Touches no rows.
grant usage on warehouse "LOADING" to role "XTS_OWNER"
