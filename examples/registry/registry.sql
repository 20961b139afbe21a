-- registry.sql: a registry of shards, for many servers.  examples/registry/README.md describes it.
--
-- Owners, such as clusters, claim shards.  Nodes check in: each reports the list of shards that it
-- can issue, and learns of conflicts with others.  Generators never read the registry.
--
-- Load it into one database, which does not need seqid, and edit it as you like.  The functions
-- run with the privileges of the caller, which must have access to the schema and its tables.

BEGIN;
SET LOCAL search_path = pg_catalog, pg_temp;
CREATE SCHEMA shard_registry;

CREATE TABLE shard_registry.shards (
    shard int PRIMARY KEY CHECK (shard BETWEEN 0 AND 1023),
    owner text NOT NULL CHECK (length(owner) BETWEEN 1 AND 64)
);
COMMENT ON TABLE shard_registry.shards IS 'claimed shards; owner is a cluster or a stand-alone server';

CREATE TABLE shard_registry.nodes (
    owner text CHECK (length(owner) BETWEEN 1 AND 64),
    node text CHECK (length(node) BETWEEN 1 AND 64),
    shards int4multirange NOT NULL,
    started_at timestamptz NOT NULL,
    checked_in_at timestamptz NOT NULL,
    PRIMARY KEY (owner, node)
);
COMMENT ON TABLE shard_registry.nodes IS
'the shards that each node can issue; of two servers with one name, the one that started last';

CREATE TABLE shard_registry.conflicts (
    owner text,
    node text,
    conflict text,
    noticed_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (owner, node, conflict)
);
COMMENT ON TABLE shard_registry.conflicts IS
'conflicts that check-ins have found, and the time of the last check-in that found it';

CREATE FUNCTION shard_registry.list(shards int4multirange) RETURNS text
LANGUAGE sql STABLE STRICT PARALLEL SAFE
RETURN (SELECT string_agg(concat_ws('-', lower(r), nullif(upper(r) - 1, lower(r))), ', ' ORDER BY r)
          FROM unnest(shards) r);
COMMENT ON FUNCTION shard_registry.list IS 'shards as a list for seqid.shards, such as 0-15, 27';

CREATE FUNCTION shard_registry.claim(owner text, count int) RETURNS text
LANGUAGE plpgsql VOLATILE STRICT
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    claimed int4multirange;
BEGIN
    IF count NOT BETWEEN 1 AND 1024 THEN
        RAISE invalid_parameter_value USING
            MESSAGE = format('number of shards %s is out of range', count),
            DETAIL = 'The number of shards must be between 1 and 1024.';
    END IF;

    -- Two concurrent claims must not find the same free shards.
    LOCK TABLE shard_registry.shards IN SHARE ROW EXCLUSIVE MODE;
    INSERT INTO shard_registry.shards (shard, owner)
        SELECT free, claim.owner FROM generate_series(0, 1023) free
         WHERE NOT EXISTS (SELECT FROM shard_registry.shards s WHERE s.shard = free)
         ORDER BY free
         LIMIT greatest(0, claim.count -
            (SELECT count(*) FROM shard_registry.shards s WHERE s.owner = claim.owner));
    SELECT range_agg(int4range(s.shard, s.shard, '[]')) INTO claimed
      FROM shard_registry.shards s WHERE s.owner = claim.owner HAVING count(*) >= claim.count;
    IF claimed IS NULL THEN
        RAISE program_limit_exceeded USING
            MESSAGE = format('could not find %s free shards', count),
            HINT = 'Claim fewer shards, or run SELECT shard_registry.release(owner) for an owner that no longer issues ids.';
    END IF;
    RETURN shard_registry.list(claimed);
END
$$;
COMMENT ON FUNCTION shard_registry.claim IS
'claim free shards for an owner until it has count (1 to 1024), and return all its shards as a list';

CREATE FUNCTION shard_registry.release(owner text) RETURNS boolean
LANGUAGE plpgsql VOLATILE STRICT
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    DELETE FROM shard_registry.nodes n WHERE n.owner = release.owner;
    DELETE FROM shard_registry.shards s WHERE s.owner = release.owner;
    RETURN FOUND;
END
$$;
COMMENT ON FUNCTION shard_registry.release IS
'release the shards of an owner that no longer issues ids, and forget its nodes; false if it had no shards';

CREATE FUNCTION shard_registry.check_in(owner text, node text, shards text, started_at timestamptz,
    sent_at timestamptz) RETURNS SETOF text
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    allowed int4multirange;
    unclaimed int4multirange;
BEGIN
    -- An older snapshot would not have the list of a concurrent check-in.
    IF current_setting('transaction_isolation') IN ('repeatable read', 'serializable') THEN
        RAISE active_sql_transaction USING
            MESSAGE = 'check_in() needs isolation level READ COMMITTED',
            HINT = 'Begin the transaction with BEGIN ISOLATION LEVEL READ COMMITTED, or set default_transaction_isolation.';
    END IF;
    -- Without these, a conflict could not be found.
    IF num_nulls(owner, node, shards, started_at, sent_at) > 0 THEN
        RAISE null_value_not_allowed USING MESSAGE = 'arguments of check_in() must not be NULL';
    END IF;
    -- Refuse the lists that seqid.shards refuses.  A list of all 1,024 shards has less than 16 kB.
    IF octet_length(shards) > 16384
        OR shards !~ '^\s*([0-9]{1,4}\s*(-\s*[0-9]{1,4}\s*)?(,\s*[0-9]{1,4}\s*(-\s*[0-9]{1,4}\s*)?)*)?$' THEN
        RAISE invalid_text_representation USING
            MESSAGE = format('"%s" is not a list of shards', left(shards, 64)),
            HINT = 'Write numbers from 0 to 1023 and ascending ranges, separated by commas, for example "3, 16-31".';
    END IF;
    SELECT coalesce(range_agg(int4range(part[1]::int, coalesce(part[2], part[1])::int, '[]')), '{}') INTO allowed
      FROM regexp_matches(shards, '([0-9]+)\s*(?:-\s*([0-9]+))?', 'g') part;

    -- Of two concurrent check-ins, the second must see the list of the first.
    LOCK TABLE shard_registry.nodes IN SHARE ROW EXCLUSIVE MODE;
    SELECT allowed - coalesce(range_agg(int4range(s.shard, s.shard, '[]')), '{}') INTO unclaimed
      FROM shard_registry.shards s WHERE s.owner = check_in.owner;
    RETURN QUERY INSERT INTO shard_registry.conflicts AS c (owner, node, conflict)
        SELECT check_in.owner, check_in.node, message FROM (
            SELECT format('The node can issue shards %s, which its owner has not claimed.',
                       left(shard_registry.list(unclaimed), 200)) WHERE NOT isempty(unclaimed)
             UNION
            SELECT format('Node "%s" of "%s" can issue shards %s too.', n.node, n.owner,
                       left(shard_registry.list(allowed * n.shards), 200))
              FROM shard_registry.nodes n
             WHERE n.shards && allowed AND (n.owner, n.node) <> (check_in.owner, check_in.node)
             UNION
            -- A check-in that was sent before the node restarted can arrive after it.
            SELECT 'Another server, which started later, has the name of this node.'
              FROM shard_registry.nodes n
             WHERE (n.owner, n.node) = (check_in.owner, check_in.node)
               AND n.started_at > check_in.started_at AND n.started_at < sent_at) messages (message)
    ON CONFLICT ON CONSTRAINT conflicts_pkey DO UPDATE SET noticed_at = now() RETURNING c.conflict;
    INSERT INTO shard_registry.nodes AS n VALUES (owner, node, allowed, started_at, now())
    ON CONFLICT ON CONSTRAINT nodes_pkey DO UPDATE
       SET shards = excluded.shards, started_at = excluded.started_at, checked_in_at = excluded.checked_in_at
     WHERE n.started_at <= excluded.started_at;
END
$$;
COMMENT ON FUNCTION shard_registry.check_in IS
'report the shards that a node can issue, the start of its server and the time there; return a row for each conflict';
COMMIT;
