"""Stores the bound of docs/outbox.md on the primary, for readers on standbys, with psycopg2
(apt install python3-psycopg2).

PGHOST, PGDATABASE and so on name the primary. The argument is the time between two bounds, in
milliseconds. A lost connection ends the program. Let systemd start it again."""
import sys
import time

import psycopg2

PAUSE_MS = float(sys.argv[1]) if len(sys.argv) > 1 else 5

# Of snowflakes: seqid.settled_snowflake(). Of COMBs: seqid.settled_comb_uuid(), of type uuid.
# Each bound needs its own table. The schemas tell apart tables that a search_path would confuse.
BOUND = "seqid.settled('public.outbox_id_seq')"
TYPE = 'bigint'
TABLE = 'public.outbox_settled'

EXISTS = f"SELECT to_regclass('{TABLE}') IS NOT NULL"

# One transaction, so the table always has its row.
CREATE = f"""
CREATE TABLE {TABLE} (bound {TYPE} NOT NULL, expression text NOT NULL);
CREATE UNIQUE INDEX ON {TABLE} ((true));
INSERT INTO {TABLE} VALUES ({BOUND}, %s);
"""

# One statement: its commit follows those of the rows below the bound, here and on standbys.
# Stores a lower bound, too: a sequence that was set back returns values below the old one again.
SETTLE = f'UPDATE {TABLE} SET bound = {BOUND} WHERE bound <> {BOUND}'


def create_table(cursor):
    """Ends the program if the table is for another bound, because its readers would miss rows."""
    cursor.execute(EXISTS)
    if not cursor.fetchone()[0]:
        cursor.execute(CREATE, (BOUND,))
    cursor.execute(f'SELECT expression FROM {TABLE}')
    (expression,) = cursor.fetchone()
    if expression != BOUND:
        sys.exit(f'{TABLE} contains {expression}, so choose another TABLE for {BOUND}')


def main():
    connection = psycopg2.connect('', application_name=f'settle.py {TABLE}')
    connection.autocommit = True
    with connection.cursor() as cursor:
        create_table(cursor)
        while True:
            cursor.execute(SETTLE)
            time.sleep(PAUSE_MS / 1000)


main()
