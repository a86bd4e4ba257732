-- Who is connected to what, and what time it is there (UTC). Reads only.
select
    current_account() as account_name,
    current_user() as user_name,
    current_role() as role_name,
    current_warehouse() as warehouse_name,
    current_database() as database_name,
    cast(sysdate() as timestamp_ntz(6)) as clock
