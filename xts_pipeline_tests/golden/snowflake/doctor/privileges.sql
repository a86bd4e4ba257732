-- What a role was granted. Reads only.
show grants to role "XTS_LOADER"
