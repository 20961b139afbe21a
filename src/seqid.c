/*
 * seqid.c
 *	  Entry point of the loadable module.
 */
#include "postgres.h"

#include "clock/clock_mark.h"
#include "clock/transaction_slot.h"
#include "pg/compat.h"
#include "pg/sequence_page.h"
#include "state/guc.h"
#include "state/shared_state.h"

COMPAT_MODULE_MAGIC("seqid", SEQID_VERSION);

void		_PG_init(void);

void
_PG_init(void)
{
	seqid_define_settings(false);
	seqid_reserve_shared_state();
	seqid_watch_mark();
	seqid_watch_transactions();
	seqid_watch_sequences();
}
