"""Stores the bound of docs/outbox.md on the primary, for readers on standbys, with psycopg2
(apt install python3-psycopg2).

PGHOST, PGDATABASE and so on name the primary. The argument is the time between two bounds, in
milliseconds. A lost connection ends the program. Let systemd start it again."""
import sys
import time

import psycopg2

PAUSE_MS = float(sys.argv[1]) if len(sys.argv) > 1 else 5

# Of snowflakes: seqid.settled_snowflake(). Of COMBs: seqid.settled_comb_uuid(), of type uuid.
BOUND = "seqid.settled('outbox_id_seq')"
TYPE = 'bigint'

EXISTS = "SELECT to_regclass('outbox_settled') IS NOT NULL"

# One transaction, so the table always has its row.
CREATE = f"""
CREATE TABLE outbox_settled (bound {TYPE} NOT NULL);
CREATE UNIQUE INDEX outbox_settled_one_row ON outbox_settled ((true));
INSERT INTO outbox_settled VALUES ({BOUND});
"""

# One statement: its commit follows those of the rows below the bound, here and on standbys.
# Stores a lower bound, too: a sequence that was set back returns values below the old one again.
SETTLE = f'UPDATE outbox_settled SET bound = {BOUND} WHERE bound <> {BOUND}'


def main():
    connection = psycopg2.connect('', application_name='settle.py')
    connection.autocommit = True
    with connection.cursor() as cursor:
        cursor.execute(EXISTS)
        if not cursor.fetchone()[0]:
            cursor.execute(CREATE)
        while True:
            cursor.execute(SETTLE)
            time.sleep(PAUSE_MS / 1000)


main()
