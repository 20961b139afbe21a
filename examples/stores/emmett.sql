-- emmett.sql: for @event-driven-io/emmett-postgresql.  Run it after the store has created its
-- tables.  Consumers connect as the role reader, which finds the view before the table.
--
-- The package filters and sorts by transaction_id first, so the view returns a constant for it.
-- The order is then that of global_position, which is the consumer's position too.
CREATE SCHEMA settled;
CREATE VIEW settled.emt_messages AS
    SELECT stream_position, global_position, '0'::xid8 AS transaction_id, created, is_archived,
           message_kind, stream_id, partition, message_schema_version, message_id, message_type,
           message_data, message_metadata
      FROM public.emt_messages
     WHERE global_position < (SELECT seqid.settled('public.emt_global_message_position'));
GRANT USAGE ON SCHEMA settled TO reader;
GRANT SELECT ON settled.emt_messages, emt_global_message_position TO reader;
ALTER ROLE reader SET search_path = settled, public;
