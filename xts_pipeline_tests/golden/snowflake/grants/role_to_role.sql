-- Lets the administrators of the account manage what a role owns, and take the role. Touches no rows.
grant role "XTS_OWNER" to role "SYSADMIN"
