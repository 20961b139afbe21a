#!/usr/bin/env python3
# cable.py: the cable between a server and the others.
#
# usage: cable.py PORT TARGET_PORT
#
# Passes on what comes to PORT of 127.0.0.1.  Killed, it is a cable that was cut:
# nothing more arrives, and nobody comes in.

import asyncio
import sys


async def pump(reader, writer):
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    except OSError:
        pass
    finally:
        writer.close()


async def connect(reader, writer):
    try:
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", int(sys.argv[2]))
    except OSError:
        writer.close()
        return
    await asyncio.gather(pump(reader, far_writer), pump(far_reader, writer))


async def main():
    server = await asyncio.start_server(connect, "127.0.0.1", int(sys.argv[1]))
    await server.serve_forever()


asyncio.run(main())
