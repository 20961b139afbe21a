"""Reads the outbox of docs/outbox.md on a standby, with its position on the primary, and with
psycopg2 (apt install python3-psycopg2).

The arguments are the connection strings of the primary and of the standby, and the reader's name.
The program ends when it loses a connection, or if the standby is behind for too long. Let systemd
start it again."""
import sys
import time

import psycopg2

PRIMARY, STANDBY = sys.argv[1:3]
READER = sys.argv[3] if len(sys.argv) > 3 else 'mail'
# For snowflakes and COMBs: CALL seqid.horizon(), and snowflake or comb_uuid.
CALL = "CALL seqid.sequence_horizon('outbox_id_seq')"
HORIZON = 'horizon'
AT_MOST = 1000          # rows in a batch
PATIENCE_S = 60         # more than the standby is ever behind


def handle(id, topic, payload):
    print(id, topic, flush=True)


def wait_until_replayed(standby, settled):
    """Returns when the standby has replayed all rows below the horizon."""
    began = time.monotonic()
    while time.monotonic() - began < PATIENCE_S:
        standby.execute('SELECT seqid.has_replayed(%(lsn)s, %(timeline)s, %(lifetime)s)', settled)
        if standby.fetchone()[0]:
            return
        standby.connection.rollback()
        time.sleep(0.005)
    sys.exit(f'the standby has not replayed {settled["lsn"]} within {PATIENCE_S} s')


def read_batch(primary, standby):
    primary.execute('SELECT last_id FROM outbox_reader WHERE name = %s FOR UPDATE', (READER,))
    row = primary.fetchone()
    if row is None:
        sys.exit(f'outbox_reader has no row with the name {READER}')
    last = row[0]
    primary.execute(CALL)
    settled = {column.name: value for column, value in zip(primary.description, primary.fetchone())}
    wait_until_replayed(standby, settled)
    standby.execute('SELECT id, topic, payload FROM outbox WHERE id > %s AND id < %s ORDER BY id LIMIT %s',
                    (last, settled[HORIZON], AT_MOST))
    rows = standby.fetchall()
    standby.connection.rollback()   # an open transaction can conflict with the recovery
    for row in rows:
        handle(*row)
    if rows:
        primary.execute('UPDATE outbox_reader SET last_id = %s WHERE name = %s', (rows[-1][0], READER))


def main():
    primary = psycopg2.connect(PRIMARY)
    standby = psycopg2.connect(STANDBY)
    # Each statement has a new snapshot. The call and the SELECT are one transaction, because a
    # connection pool can execute another transaction on another standby.
    standby.set_session(isolation_level='READ COMMITTED')
    while True:
        with primary, standby, primary.cursor() as on_primary, standby.cursor() as on_standby:
            read_batch(on_primary, on_standby)
        time.sleep(0.02)


main()
