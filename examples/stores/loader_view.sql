-- loader_view.sql: for a program that can only send SELECT * FROM events WHERE id > $1 ORDER BY id.
-- The program reads the view settled.events.  The table and its writers stay as they are.
CREATE SCHEMA settled;
CREATE VIEW settled.events AS
    SELECT * FROM events WHERE id < (SELECT seqid.settled('events_id_seq'));
GRANT USAGE ON SCHEMA settled TO reader;
GRANT SELECT ON settled.events, events_id_seq TO reader;
