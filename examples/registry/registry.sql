-- registry.sql: a registry of shards, for many servers.  One database contains the registry.  Owners,
-- such as clusters, claim shards in it.  Nodes check in: each reports which shards it is
-- allowed to issue.  Generators never read the registry.
--
-- The functions run with the privileges of the caller, which must have access to the
-- tables.

CREATE SCHEMA shard_registry;

CREATE TABLE shard_registry.shards (
	shard int PRIMARY KEY CHECK (shard BETWEEN 0 AND 1023),
	owner text NOT NULL CHECK (length(owner) BETWEEN 1 AND 64),
	node text CHECK (length(node) BETWEEN 1 AND 64),
	timeline bigint,
	started_at timestamptz,
	checked_in_at timestamptz
);
COMMENT ON TABLE shard_registry.shards IS
'which owner has claimed a shard, and which node has checked in for it; see shard_registry.claim() and shard_registry.check_in()';
COMMENT ON COLUMN shard_registry.shards.owner IS 'name of a cluster, or of a stand-alone server';
COMMENT ON COLUMN shard_registry.shards.node IS 'node of the latest server that has checked in, NULL if there was none';
COMMENT ON COLUMN shard_registry.shards.timeline IS 'timeline of that server; NULL accepts any server';
COMMENT ON COLUMN shard_registry.shards.started_at IS 'time at which that server started';
COMMENT ON COLUMN shard_registry.shards.checked_in_at IS 'time of its last check-in';

CREATE TABLE shard_registry.conflicts (
	owner text,
	node text,
	conflict text,
	noticed_at timestamptz NOT NULL DEFAULT now(),
	PRIMARY KEY (owner, node, conflict)
);
COMMENT ON TABLE shard_registry.conflicts IS
'conflicts that shard_registry.check_in() has found';
COMMENT ON COLUMN shard_registry.conflicts.noticed_at IS 'time of the last check-in that found the conflict';


CREATE FUNCTION shard_registry.claim(owner text, count int)
RETURNS text
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE
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
		SELECT s, claim.owner FROM generate_series(0, 1023) s
		 WHERE NOT EXISTS (SELECT FROM shard_registry.shards r WHERE r.shard = s)
		 ORDER BY s
		 LIMIT greatest(0, claim.count -
			(SELECT count(*) FROM shard_registry.shards r WHERE r.owner = claim.owner));
	SELECT range_agg(int4range(r.shard, r.shard, '[]')) INTO claimed
	  FROM shard_registry.shards r WHERE r.owner = claim.owner HAVING count(*) >= claim.count;
	IF claimed IS NULL THEN
		RAISE program_limit_exceeded USING
			MESSAGE = format('could not find %s free shards', count),
			HINT = 'Claim fewer shards, or run SELECT shard_registry.release(owner) for an owner that no longer issues ids.';
	END IF;
	RETURN (SELECT string_agg(concat_ws('-', lower(r), nullif(upper(r) - 1, lower(r))), ', ' ORDER BY r)
			  FROM unnest(claimed) r);
END
$$;
COMMENT ON FUNCTION shard_registry.claim(text, int) IS
'claim free shards for an owner until it has count (1 to 1024), and return all its shards as a list for seqid.shards';

CREATE FUNCTION shard_registry.release(owner text)
RETURNS boolean
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	DELETE FROM shard_registry.shards r WHERE r.owner = release.owner;
	RETURN FOUND;
END
$$;
COMMENT ON FUNCTION shard_registry.release(text) IS
'release the shards of an owner that no longer issues ids; false if it had none';

-- For each shard, only the latest server may go on: the one with the highest timeline,
-- and of those on one timeline, such as a server and its clone, the one that started
-- last.  A standby has no timeline, because it issues no ids.
CREATE FUNCTION shard_registry.check_in(owner text, node text, shards text, timeline bigint,
	started_at timestamptz)
RETURNS text
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	allowed int4multirange;
	conflict text;
BEGIN
	-- Without these, a conflict could not be found.
	IF num_nulls(owner, node, shards, started_at) > 0 THEN
		RAISE null_value_not_allowed USING
			MESSAGE = 'owner, node, shards and start time must not be NULL';
	END IF;
	-- Refuse the lists that seqid.shards refuses.  A list of all 1,024 shards, with spaces,
	-- has less than 16 kB.
	IF octet_length(shards) > 16384
		OR shards !~ '^\s*(\d{1,4}\s*(-\s*\d{1,4}\s*)?(,\s*\d{1,4}\s*(-\s*\d{1,4}\s*)?)*)?$' THEN
		RAISE invalid_text_representation USING
			MESSAGE = format('"%s" is not a list of shards', left(shards, 64)),
			HINT = 'Write numbers from 0 to 1023 and ascending ranges, separated by commas, for example "3, 16-31".';
	END IF;
	SELECT range_agg(int4range(part[1]::int, coalesce(part[2], part[1])::int, '[]')) INTO allowed
	  FROM regexp_matches(shards, '(\d+)\s*(?:-\s*(\d+))?', 'g') part;

	-- Two concurrent check-ins must not both be the latest.
	LOCK TABLE shard_registry.shards IN SHARE ROW EXCLUSIVE MODE;
	SELECT CASE WHEN r.owner IS DISTINCT FROM check_in.owner
				THEN format('The node is allowed to issue shard %s, which %s has claimed.', s,
							coalesce('"' || r.owner || '"', 'no owner'))
				ELSE format('A later server, node "%s" on timeline %s, has checked in for shard %s.',
							r.node, r.timeline, s) END INTO conflict
	  FROM unnest(allowed) a CROSS JOIN generate_series(lower(a), upper(a) - 1) s
	  LEFT JOIN shard_registry.shards r ON r.shard = s
	 WHERE r.owner IS DISTINCT FROM check_in.owner
		OR (r.timeline, r.started_at) > (check_in.timeline, check_in.started_at)
	 ORDER BY r.owner IS DISTINCT FROM check_in.owner, s LIMIT 1;

	IF conflict IS NOT NULL THEN
		INSERT INTO shard_registry.conflicts VALUES (owner, node, conflict)
			ON CONFLICT ON CONSTRAINT conflicts_pkey DO UPDATE SET noticed_at = now();
	END IF;
	-- A conflict about one shard must not hide one about another.
	IF timeline IS NOT NULL THEN
		UPDATE shard_registry.shards r
		   SET node = check_in.node, timeline = check_in.timeline,
			   started_at = check_in.started_at, checked_in_at = now()
		 WHERE allowed @> r.shard AND r.owner = check_in.owner
		   AND ((r.timeline, r.started_at) > (check_in.timeline, check_in.started_at)) IS NOT TRUE;
	END IF;
	RETURN conflict;
END
$$;
COMMENT ON FUNCTION shard_registry.check_in(text, text, text, bigint, timestamptz) IS
'report which shards a node is allowed to issue, its timeline (NULL for a standby) and when it started; return a conflict with another owner or a later server, or NULL if there is none';
