"""Reads the outbox of docs/outbox.md, with its position in a file outside of the database.

A failover that loses WAL brings back a database of before, in which later rows can have keys
that the reader has passed. So with each position the reader keeps a token, a random value
that it has also written into the database that it read:

    CREATE TABLE outbox_token (token uuid PRIMARY KEY, written timestamptz DEFAULT now());

Each transaction begins at the highest position whose token the database has, also behind a
connection pool, which can hide a failover. Rows can come again, and none is missed. The first
argument is the file. To read all rows again, stop the program and remove the file. PGHOST,
PGDATABASE and so on name the server. A lost connection ends the program. Let systemd start it
again."""
import os
import sys
import time
import uuid

import psycopg2

FILE = sys.argv[1]
AT_MOST = 1000
BEGINNING = -2 ** 63
END = '.'


def handle(id, topic, payload):
    print(id, topic, flush=True)


def saved_positions():
    if not os.path.exists(FILE):
        return {}
    with open(FILE) as file:
        lines = [line.split() for line in file]
    return {line[0]: line[1] for line in lines if line[2:] == [END]}


def save_position(token, position):
    # The first newline ends a line that a full disk has cut off, and END shows that it has not.
    with open(FILE, 'a') as file:
        file.write(f'\n{token} {position} {END}\n')
        file.flush()
        os.fsync(file.fileno())


def find_position(cursor):
    """Returns a token, and a position: all rows of this database with smaller keys have been handled."""
    position_of = saved_positions()
    cursor.execute('SELECT token FROM outbox_token WHERE token = ANY(%s::uuid[])', (list(position_of),))
    return max(((token, int(position_of[token])) for (token,) in cursor),
               key=lambda found: found[1], default=(None, BEGINNING))


def read_batch(connection, token, position):
    """Returns the token and the position after the batch."""
    with connection, connection.cursor() as cursor:
        cursor.execute('SELECT 1 FROM outbox_token WHERE token = %s', (token,))
        if cursor.rowcount == 0:
            token, position = find_position(cursor)
        cursor.execute("CALL seqid.sequence_horizon('outbox_id_seq')")
        horizon = cursor.fetchone()[0]
        cursor.execute('SELECT id, topic, payload FROM outbox WHERE id >= %s AND id < %s ORDER BY id LIMIT %s',
                       (position, horizon, AT_MOST))
        rows = cursor.fetchall()
        if not rows:
            return token, position
        for row in rows:
            handle(*row)
        token = str(uuid.uuid4())
        cursor.execute('INSERT INTO outbox_token (token) VALUES (%s)', (token,))
    # The database must have the token first.
    save_position(token, rows[-1][0] + 1)
    return token, rows[-1][0] + 1


def main():
    connection = psycopg2.connect('')
    connection.set_session(isolation_level='READ COMMITTED')
    token, position = None, BEGINNING
    while True:
        before = token
        token, position = read_batch(connection, token, position)
        if token == before:
            time.sleep(0.1)


main()
