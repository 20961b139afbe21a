-- kysely.sql: for @wataruoguchi/emmett-event-store-kysely.  Consumers connect as the role
-- reader, which sees settled events only.
BEGIN;     -- if a policy fails, a reader must not see all rows
GRANT SELECT ON messages, emt_global_message_position TO reader;
CREATE POLICY everything ON messages USING (true);
CREATE POLICY settled ON messages AS RESTRICTIVE FOR SELECT TO reader
    USING (global_position < (SELECT seqid.settled('emt_global_message_position')));
ALTER TABLE messages ENABLE ROW LEVEL SECURITY;
COMMIT;
