/*
 * shard_list.c
 *	  Reads a list of shards such as "3, 16-31".
 */
#include "postgres.h"

#include <ctype.h>

#include "bits/shard_list.h"

static const char *
skip_spaces(const char *p)
{
	while (isspace((unsigned char) *p))
		p++;
	return p;
}

/* One number, without sign; -1 if there is none or it is no shard. */
static int
read_shard(const char **p)
{
	int			shard = 0;

	*p = skip_spaces(*p);
	if (!isdigit((unsigned char) **p))
		return -1;

	/* Stops before it can overflow: four digits are too large already. */
	while (isdigit((unsigned char) **p) && shard < SHARD_LIST_SHARDS)
		shard = shard * 10 + (*(*p)++ - '0');
	*p = skip_spaces(*p);

	return shard < SHARD_LIST_SHARDS ? shard : -1;
}

static void
add_shard(ShardList *list, int shard)
{
	if (shard_set_has(&list->set, shard))
	{
		list->repeats = true;
		return;
	}
	list->set.bits[shard / 64] |= UINT64CONST(1) << (shard % 64);
	list->shards[list->count++] = (uint16) shard;
}

/* A number, or two with a dash between them. */
static const char *
read_range(const char **p, ShardList *list)
{
	int			first = read_shard(p);
	int			last = first;

	if (first >= 0 && **p == '-')
	{
		(*p)++;
		last = read_shard(p);
	}
	if (first < 0 || last < 0)
		return "is not a shard";
	if (first > last)
		return "is a range that ends before it begins";

	for (int shard = first; shard <= last; shard++)
		add_shard(list, shard);
	return NULL;
}

int
seqid_shard_not_in_set(const ShardList *list, const ShardSet *set)
{
	for (int i = 0; i < list->count; i++)
	{
		if (!shard_set_has(set, list->shards[i]))
			return list->shards[i];
	}
	return -1;
}

bool
seqid_parse_shard_list(const char *text, ShardList *list,
					   const char **where, const char **why)
{
	const char *p = text;

	memset(list, 0, sizeof(*list));
	for (;;)
	{
		*where = skip_spaces(p);
		*why = read_range(&p, list);
		if (*why != NULL)
			return false;
		if (*p == '\0')
			return true;
		if (*p != ',')
		{
			*where = p;
			*why = "is not a comma";
			return false;
		}
		p++;
	}
}
