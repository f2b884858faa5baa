"""An authorization server: the endpoints of the official Python SDK, and a provider that lets everybody in.

Usage: issuer.py FOLDER [tls] [flow]

Without `flow` it signs tokens, publishes its keys and answers introspection, but lacks the endpoints of the SDK, which takes
five times as long to load as the rest.

Prints its URL, then one token for each line on stdin, a JSON object of claims; the member "alg" says how to sign, "header_typ" what the header says of the token. Ends with
stdin. Keys are made at its start; FOLDER gets keys.json and, with tls, ca.pem. With `opaque` as the algorithm a token means
nothing by itself: ask at /introspect, as "tools" with the secret "s3cret".

A line may be a command instead, which is answered with the number of requests to /keys and /introspect so far: {"delay":
SECONDS} lets those wait, {"rotate": true} replaces the key of ES256, {"revoke": TOKEN} revokes an opaque token.
"""
import asyncio
import base64
import datetime
import ipaddress
import json
import secrets
import socket
import sys
import threading
import time
from pathlib import Path

import jwt
import uvicorn
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.x509.oid import NameOID
from jwt.algorithms import get_default_algorithms
from starlette.applications import Starlette
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

HAS_FLOW = "flow" in sys.argv[2:]
if HAS_FLOW:
    from mcp.server.auth.provider import AccessToken, AuthorizationCode, construct_redirect_uri
    from mcp.server.auth.routes import build_metadata, create_auth_routes
    from mcp.server.auth.settings import ClientRegistrationOptions, RevocationOptions
    from mcp.shared.auth import OAuthToken
    from pydantic import AnyHttpUrl

RSA = rsa.generate_private_key(public_exponent=65537, key_size=2048)
KEYS = {
    "RS256": ("rsa", RSA),
    "RS512": ("rsa", RSA),
    "PS256": ("rsa", RSA),
    "ES256": ("p256", ec.generate_private_key(ec.SECP256R1())),
    "ES384": ("p384", ec.generate_private_key(ec.SECP384R1())),
    "EdDSA": ("ed", ed25519.Ed25519PrivateKey.generate()),
}
SCOPES = ["use", "deploy"]


def key_set():
    keys = {}
    for alg, (kid, key) in KEYS.items():
        jwk = get_default_algorithms()[alg].to_jwk(key.public_key(), as_dict=True)
        keys[kid] = {**jwk, "kid": kid, "use": "sig"}
    return {"keys": list(keys.values())}


class Issuer:
    """The provider, with one user."""

    def __init__(self, url):
        self.url, self.clients, self.codes, self.opaque = url, {}, {}, {}
        # How tokens of the flow are signed: like the last token that was asked for on stdin.
        self.alg = "RS256"
        # How long /keys and /introspect take, and how often they were asked.
        self.delay, self.asked = 0, 0

    def token(self, claims, alg, typ="at+jwt"):
        claims = {"iss": self.url, "sub": "ann", "client_id": "cli", "exp": int(time.time()) + 300, **claims}
        if alg == "opaque":
            token = secrets.token_urlsafe(24)
            self.opaque[token] = claims
            return token
        if alg == "none":
            return jwt.encode(claims, None, algorithm="none")
        if alg == "HS256":
            # What a forger has: the public key, used as if it were a secret that both know.
            public = RSA.public_key().public_bytes(
                serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
            )
            import hashlib
            import hmac

            part = lambda value: base64.urlsafe_b64encode(value).rstrip(b"=")
            message = part(b'{"alg":"HS256","kid":"rsa"}') + b"." + part(json.dumps(claims).encode())
            return (message + b"." + part(hmac.new(public, message, hashlib.sha256).digest())).decode()
        kid, key = KEYS[alg]
        return jwt.encode(claims, key, algorithm=alg, headers={"kid": kid, "typ": typ})

    async def get_client(self, client_id):
        return self.clients.get(client_id)

    async def register_client(self, client):
        # Whatever it has registered for, it may want more later.
        client.scope = " ".join(SCOPES)
        self.clients[client.client_id] = client

    async def authorize(self, client, params):
        code = AuthorizationCode(
            code=secrets.token_urlsafe(24),
            scopes=params.scopes or [],
            expires_at=time.time() + 60,
            client_id=client.client_id,
            code_challenge=params.code_challenge,
            redirect_uri=params.redirect_uri,
            redirect_uri_provided_explicitly=params.redirect_uri_provided_explicitly,
            resource=params.resource,
            subject="ann",
        )
        self.codes[code.code] = code
        return construct_redirect_uri(str(params.redirect_uri), code=code.code, state=params.state, iss=self.url)

    async def load_authorization_code(self, client, code):
        return self.codes.get(code)

    async def exchange_authorization_code(self, client, code):
        del self.codes[code.code]
        scope = " ".join(code.scopes)
        claims = {"aud": code.resource, "sub": code.subject, "client_id": client.client_id, "scope": scope}
        return OAuthToken(access_token=self.token(claims, self.alg), expires_in=300, scope=scope)

    async def load_refresh_token(self, client, token):
        return None

    async def load_access_token(self, token):
        claims = self.opaque.get(token)
        return claims and AccessToken(token=token, client_id=claims["client_id"], scopes=claims["scope"].split())

    async def revoke_token(self, token):
        self.opaque.pop(token.token, None)

    async def wait(self):
        self.asked += 1
        await asyncio.sleep(self.delay)

    def command(self, line):
        self.delay = line.get("delay", self.delay)
        if line.get("rotate"):
            KEYS["ES256"] = (secrets.token_hex(4), ec.generate_private_key(ec.SECP256R1()))
        self.opaque.pop(line.get("revoke"), None)
        return self.asked

    async def introspect(self, request):
        await self.wait()
        known = "Basic " + base64.b64encode(b"tools:s3cret").decode()
        if request.headers.get("authorization") != known:
            return Response(status_code=401)
        claims = self.opaque.get((await request.form())["token"])
        return JSONResponse({"active": False} if claims is None else {"active": True, **claims})


def certificate(folder):
    """A certificate for localhost, by an authority that only its clients trust."""
    now = datetime.datetime.now(datetime.timezone.utc)

    def make(name, key, issuer, issuer_key, *extensions):
        builder = (
            x509.CertificateBuilder()
            .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]))
            .issuer_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, issuer)]))
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(days=1))
            .not_valid_after(now + datetime.timedelta(days=1))
        )
        for extension in extensions:
            builder = builder.add_extension(extension, critical=False)
        return builder.sign(issuer_key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)

    authority, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    names = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    basic = x509.BasicConstraints(ca=True, path_length=None)
    (folder / "ca.pem").write_bytes(make("authority", authority, "authority", authority, basic))
    leaf = make("localhost", key, "authority", authority, x509.SubjectAlternativeName(names))
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    (folder / "leaf.pem").write_bytes(private + leaf)
    return str(folder / "leaf.pem")


def flow(issuer):
    """The endpoints of the SDK, and its description of them."""
    url = AnyHttpUrl(issuer.url)
    registration = ClientRegistrationOptions(enabled=True, valid_scopes=SCOPES, default_scopes=SCOPES)
    described = build_metadata(url, None, registration, RevocationOptions()).model_dump(mode="json", exclude_none=True)
    return create_auth_routes(issuer, url, client_registration_options=registration), described


def main(folder, secure):
    door = socket.create_server(("127.0.0.1", 0))
    url = f"http{'s' if secure else ''}://localhost:{door.getsockname()[1]}"
    issuer = Issuer(url)
    (folder / "keys.json").write_text(json.dumps(key_set()))
    endpoints, described = flow(issuer) if HAS_FLOW else ([], {})
    more = {"issuer": url, "jwks_uri": f"{url}/keys", "authorization_response_iss_parameter_supported": True}

    async def describe(request):
        return JSONResponse({**described, **more})

    async def keys(request):
        await issuer.wait()
        return JSONResponse(key_set())

    routes = [
        Route("/.well-known/oauth-authorization-server", describe),
        Route("/keys", keys),
        Route("/introspect", issuer.introspect, methods=["POST"]),
        *endpoints,
    ]
    files = {"ssl_certfile": certificate(folder)} if secure else {}
    # By default both ends give up an idle connection after 5 s: a request at that moment would meet its end.
    config = uvicorn.Config(Starlette(routes=routes), log_level="error", timeout_keep_alive=600, **files)
    server = uvicorn.Server(config)

    def obey():
        for line in sys.stdin:
            claims = json.loads(line)
            if "alg" not in claims:
                print(issuer.command(claims), flush=True)
                continue
            issuer.alg = claims.pop("alg")
            typ = claims.pop("header_typ", "at+jwt")
            print(issuer.token(claims, issuer.alg, typ), flush=True)
        server.should_exit = True

    print(url, flush=True)
    threading.Thread(target=obey, daemon=True).start()
    asyncio.run(server.serve(sockets=[door]))


main(Path(sys.argv[1]), "tls" in sys.argv[2:])
