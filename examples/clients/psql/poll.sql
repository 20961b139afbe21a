-- poll.sql: what is new in an outbox, each row once, by hand.
SELECT last_id AS last FROM outbox_reader WHERE name = 'by hand' \gset
CALL seqid.horizon() \gset
SELECT id, topic FROM outbox
 WHERE id > :last AND id < :snowflake ORDER BY id;
UPDATE outbox_reader
   SET last_id = coalesce((SELECT max(id) FROM outbox WHERE id < :snowflake), last_id)
 WHERE name = 'by hand';
