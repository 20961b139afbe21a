# SeqidCatalog.pm
#	  All that the catalogs say of the extension, as lines to compare.

package SeqidCatalog;

use strict;
use warnings;

use Exporter qw(import);

our @EXPORT = qw(catalog);

# Names instead of numbers, which differ between databases.
my $query = <<'SQL';
WITH extension AS (
	SELECT * FROM pg_extension WHERE extname = 'seqid'
), member AS (
	SELECT d.classid, d.objid, pg_describe_object(d.classid, d.objid, 0) AS name
	  FROM extension e JOIN pg_depend d ON d.refobjid = e.oid
	 WHERE d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e'
), relation AS (
	SELECT m.name, c.* FROM member m JOIN pg_class c ON c.oid = m.objid
	 WHERE m.classid = 'pg_class'::regclass
), line(name, kind, value) AS (
	SELECT 'extension', 'version, schema, control', row(extversion, extnamespace::regnamespace, extrelocatable)::text
	  FROM extension
	UNION ALL
	SELECT 'extension', 'dumps', row(c.oid::regclass, e.extcondition[n])::text
	  FROM extension e, unnest(e.extconfig) WITH ORDINALITY u(oid, n) JOIN pg_class c USING (oid)
	UNION ALL
	SELECT name, 'comment', coalesce(obj_description(objid, classid::regclass::name), 'none') FROM member
	UNION ALL
	SELECT m.name, 'definition', row(pg_get_functiondef(p.oid), p.proowner::regrole)::text
	  FROM member m JOIN pg_proc p ON p.oid = m.objid
	 WHERE m.classid = 'pg_proc'::regclass
	UNION ALL
	SELECT m.name, 'privileges', acl::text
	  FROM member m JOIN pg_proc p ON p.oid = m.objid, unnest(coalesce(p.proacl, acldefault('f', p.proowner))) AS acl
	 WHERE m.classid = 'pg_proc'::regclass
	UNION ALL
	SELECT name, 'definition', row(relkind, relpersistence, relowner::regrole, reloptions)::text FROM relation
	UNION ALL
	SELECT name, 'privileges', acl::text
	  FROM relation, unnest(coalesce(relacl, acldefault(CASE relkind WHEN 'S' THEN 's' ELSE 'r' END::"char", relowner))) AS acl
	UNION ALL
	SELECT name, 'query', pg_get_viewdef(oid) FROM relation WHERE relkind = 'v'
	UNION ALL
	SELECT name, 'sequence', row(seqtypid::regtype, seqstart, seqincrement, seqmax, seqmin, seqcache, seqcycle)::text
	  FROM relation JOIN pg_sequence ON seqrelid = oid
	UNION ALL
	SELECT r.name, 'column', row(row_number() OVER (PARTITION BY r.oid ORDER BY a.attnum), a.attname,
			format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attidentity, a.attgenerated, a.attacl,
			pg_get_expr(f.adbin, f.adrelid), col_description(r.oid, a.attnum))::text
	  FROM relation r JOIN pg_attribute a ON a.attrelid = r.oid AND a.attnum > 0 AND NOT a.attisdropped
	  LEFT JOIN pg_attrdef f ON f.adrelid = r.oid AND f.adnum = a.attnum
	UNION ALL
	SELECT r.name, 'constraint', row(conname, pg_get_constraintdef(n.oid))::text
	  FROM relation r JOIN pg_constraint n ON n.conrelid = r.oid
	UNION ALL
	SELECT r.name, 'index', pg_get_indexdef(indexrelid) FROM relation r JOIN pg_index ON indrelid = r.oid
)
SELECT concat_ws(' | ', name, kind, regexp_replace(value, '\s+', ' ', 'g')) FROM line
SQL

# catalog($node, $database): a reference to sorted lines.
sub catalog
{
	my ($node, $database) = @_;

	return [ sort split /\n/, $node->safe_psql($database, $query) ];
}

1;
