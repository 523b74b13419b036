#!/usr/bin/env bash
# Version: Debian 12's curl and libcurl 7.88.1-10+deb12u15. Source: run on 2026-11-29; curl(1): "Remove an internal header by
# giving a replacement without content on the right side of the colon, as in: -H 'Host:'"; AWS Signature Version 4 signs
# what is sent.
# Guess: with --aws-sigv4 a header that -H 'NAME:' removes is neither sent nor signed.
# Behaviour: it is not sent, but it is in SignedHeaders, and so in the signature: a store that checks signatures cannot
# verify it. So uploads cannot drop Expect: 100-continue, or the Content-Type of a form, in this way.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
chmod 755 .
apt-get -qq download curl=7.88.1-10+deb12u15 libcurl4=7.88.1-10+deb12u15 2>/dev/null
for package in *.deb; do dpkg-deb -x "$package" root; done
export LD_LIBRARY_PATH=$(dirname "$(find "$dir/root" -name 'libcurl.so.4')") no_proxy='*'
cat >probe.py <<'END'
import http.server
import re
import subprocess
import threading

seen = []


class Handler(http.server.BaseHTTPRequestHandler):
    def do_PUT(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        seen.append({name.lower(): value for name, value in self.headers.items()})
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
version = subprocess.run(["root/usr/bin/curl", "--version"], capture_output=True, text=True, check=True).stdout.split("\n")[0]
print(version)
for removed in ((), ("-H", "Expect:", "-H", "Content-Type:")):
    subprocess.run(["root/usr/bin/curl", "-sf", "--aws-sigv4", "aws:amz:eu-north-1:s3", "-u", "KEY:secret", "-X", "PUT",
                    *removed, "-d", "rows", f"http://127.0.0.1:{server.server_port}/bucket/key"], check=True)
    signed = re.search(r"SignedHeaders=([\w;-]+)", seen[-1]["authorization"])[1].split(";")
    print(f"removed {removed[1::2]}: signed {signed}, of those not sent {[name for name in signed if name not in seen[-1]]}")
    assert [name for name in signed if name not in seen[-1]] == (["content-type", "expect"] if removed else [])
assert "7.88.1" in version
server.shutdown()
END
python3 probe.py
