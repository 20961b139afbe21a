-- loader_policy.sql: for a program that reads the table itself.  A policy hides rows that are
-- not settled from the role that reads, and from no other role.
BEGIN;     -- if a policy fails, a reader must not see all rows
GRANT SELECT ON events, events_id_seq TO reader;
CREATE POLICY everything ON events USING (true);
CREATE POLICY settled ON events AS RESTRICTIVE FOR SELECT TO reader
    USING (id < (SELECT seqid.settled('events_id_seq')));
ALTER TABLE events ENABLE ROW LEVEL SECURITY;
COMMIT;
