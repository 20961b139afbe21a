"""Reads the outbox of docs/outbox.md, with psycopg2 (apt install python3-psycopg2).

PGHOST, PGDATABASE and so on name the server. The argument is the reader's name. A lost
connection ends the program. Let systemd start it again."""
import select
import sys

import psycopg2

READER = sys.argv[1] if len(sys.argv) > 1 else 'mail'
AT_MOST = 1000


def handle(id, topic, payload):
    print(id, topic, flush=True)


def read_batch(connection):
    """Returns the number of rows, and whether there are unread rows."""
    with connection, connection.cursor() as cursor:     # one transaction
        cursor.execute('SELECT last_id FROM outbox_reader WHERE name = %s FOR UPDATE', (READER,))
        row = cursor.fetchone()
        if row is None:
            sys.exit(f'outbox_reader has no row with the name {READER}')
        last = row[0]
        cursor.execute("""
            SELECT id, topic, payload FROM outbox
             WHERE id > %s AND id < seqid.settled('outbox_id_seq') ORDER BY id LIMIT %s""", (last, AT_MOST))
        rows = cursor.fetchall()
        for row in rows:
            handle(*row)
        if rows:
            last = rows[-1][0]
            cursor.execute('UPDATE outbox_reader SET last_id = %s WHERE name = %s', (last, READER))
        cursor.execute('SELECT EXISTS (SELECT FROM outbox WHERE id > %s)', (last,))
        (more,) = cursor.fetchone()
    return len(rows), more


def nap(connection, seconds):
    connection.poll()
    if not connection.notifies:
        select.select([connection], [], [], seconds)


def main():
    connection = psycopg2.connect('')
    with connection, connection.cursor() as cursor:
        cursor.execute('LISTEN outbox')
    while True:
        connection.poll()
        connection.notifies.clear()
        count, more = read_batch(connection)
        if count < AT_MOST:
            nap(connection, 0.02 if more else 1)


main()
