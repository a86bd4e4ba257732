-- The sequence that numbers a satellite's rows on an engine without identity columns. Nothing orders by it.
create sequence if not exists "vault"."seq_sat_holding"
