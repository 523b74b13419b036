"""Servers that give the credentials of the test's store, with a session token that names them."""
import datetime
import json
import urllib.parse


def expiry(handler, seconds=3600):
    """The first answer of "/soon" is valid for a minute only, so that it is replaced."""
    if "/soon" in handler.path and handler.server.count("soon") == 1:
        seconds = 60
    return (datetime.datetime.now(datetime.timezone.utc) +
            datetime.timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")


def keys(handler, token):
    return json.dumps({
        "Code": "Success",
        "Type": "AWS-HMAC",
        "AccessKeyId": "AKID",
        "SecretAccessKey": "se+cret/key",
        "Token": token,
        "Expiration": expiry(handler)
    }).encode()


def machine(handler, path):
    """IMDSv2."""
    if handler.command == "PUT" and path == "/latest/api/token":
        if handler.headers["X-aws-ec2-metadata-token-ttl-seconds"] != "21600":
            return 400, b""
        return 200, b"of-this-machine"
    if handler.headers["X-aws-ec2-metadata-token"] != "of-this-machine":
        return 401, b""
    roles = "/latest/meta-data/iam/security-credentials/"
    if path == roles:
        return 200, b"the role\n"
    if path == roles + "the%20role":
        return 200, keys(handler, "machine")
    return 404, b""


def machine_without_role(handler, path):
    """Its pages of errors are long; the first answer about roles says to ask again."""
    if handler.command == "PUT":
        return machine(handler, path)
    page = b"<p>no</p>" * 30000
    return (503 if handler.server.count("busy") == 1 else 404), page


def container(handler, _):
    return (200, keys(
        handler,
        "container")) if handler.headers["Authorization"] == "secret of the agent" else (403, b"")


def web_identity(handler, _):
    query = dict(urllib.parse.parse_qsl(handler.path.partition("?")[2]))
    if query.get("Action") != "AssumeRoleWithWebIdentity" or query.get(
            "WebIdentityToken") != "signed+token":
        return 403, b"<ErrorResponse/>"
    token = f"{query['RoleArn']},{query['RoleSessionName']}"
    return 200, (
        f'<AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/">'
        f"<AssumeRoleWithWebIdentityResult><Credentials><AccessKeyId>AKID</AccessKeyId>"
        f"<SecretAccessKey>se+cret/key</SecretAccessKey><SessionToken>{token}</SessionToken>"
        f"<Expiration>{expiry(handler)}</Expiration></Credentials>"
        f"</AssumeRoleWithWebIdentityResult>"
        f"</AssumeRoleWithWebIdentityResponse>").encode()


def sso(handler, path):
    query = dict(urllib.parse.parse_qsl(handler.path.partition("?")[2]))
    if path != "/federation/credentials" or handler.headers[
            "x-amz-sso_bearer_token"] != "of the login":
        return 401, b""
    end = datetime.datetime.now(datetime.timezone.utc).timestamp() * 1000 + 3600_000
    return 200, json.dumps({
        "roleCredentials": {
            "accessKeyId": "AKID",
            "secretAccessKey": "se+cret/key",
            "expiration": int(end),
            "sessionToken": f"{query['account_id']},{query['role_name']}"
        }
    }).encode()


SERVICES = {
    "/imds": machine,
    "/roleless": machine_without_role,
    "/agent": container,
    "/sts": web_identity,
    "/sso": sso
}


def handle(handler):
    """Answers a request to one of these servers. Returns False if it is for another one."""
    for prefix, service in SERVICES.items():
        path = handler.path.partition("?")[0]
        if path == prefix or path.startswith(prefix + "/"):
            handler.rfile.read(int(handler.headers["Content-Length"] or 0))
            status, body = service(handler, path[len(prefix):])
            handler.answer(status, (), body)
            return True
    return False
