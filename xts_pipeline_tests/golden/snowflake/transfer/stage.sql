-- Makes the internal stage through which staged rows travel as files. Touches no rows.
create stage if not exists "STAGED"."XTS_FILES"
