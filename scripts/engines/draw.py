#!/usr/bin/env python3
# draw.py: a client that draws ids from all servers, and writes down each it gets.
#
# usage: draw.py DIRECTORY NAME=SOCKET_DIRECTORY:PORT...
#
# From each server that gives them it takes a hundred ids at a time, with a short
# pause; from one that does not, because it is a standby or down, it tries again.
# They are drawn by a bare SELECT: no commit waits for a standby on their behalf.
# The ids of the server NAME go to the file DIRECTORY/NAME, one a line, each with
# the milliseconds of the client's clock when it came.

import os
import sys
import threading
import time

import psycopg2

QUERY = "SELECT snowflake_nextval() FROM generate_series(1, 100)"


def draw(connection, ids):
    cursor = connection.cursor()
    while True:
        cursor.execute(QUERY)
        came = time.time() * 1000
        os.write(ids, "".join("%d %d\n" % (id, came) for (id,) in cursor).encode())
        time.sleep(0.005)


def follow(directory, name, host, port):
    ids = os.open(os.path.join(directory, name), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    while True:
        try:
            connection = psycopg2.connect(host=host, port=port, dbname="postgres", user="postgres")
            try:
                connection.autocommit = True
                draw(connection, ids)
            finally:
                connection.close()
        except psycopg2.Error:
            time.sleep(0.05)


threads = []
for server in sys.argv[2:]:
    name, address = server.split("=", 1)
    host, port = address.rsplit(":", 1)
    threads.append(threading.Thread(target=follow, args=(sys.argv[1], name, host, port)))
for thread in threads:
    thread.start()
