-- The parameters of the session, as they are and as they would be by default. Reads only.
show parameters in session
