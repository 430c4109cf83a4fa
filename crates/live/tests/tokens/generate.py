"""Writes vectors.json: tokens made by PyJWT, with the keys that verify them, and what must come of each.

    pip install pyjwt cryptography && python3 generate.py

Keys are new each time and their private halves are not kept. Times: the tokens are looked at when the Unix clock is
NOW; those that are good expire an hour later.
"""

import base64
import datetime
import hashlib
import hmac
import json
import pathlib

import jwt
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.x509.oid import NameOID

NOW = 1_800_000_000
SECRET = "a secret of more than thirty-two bytes, for all three"
CLAIMS = {"sub": "42", "exp": NOW + 3600, "iat": NOW - 10}


def pem(key):
    return key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    ).decode()


def b64(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


RSA = rsa.generate_private_key(65537, 2048)
RSA_OTHER = rsa.generate_private_key(65537, 2048)
RSA_SMALL = rsa.generate_private_key(65537, 1024)
EC = {
    "ES256": ec.generate_private_key(ec.SECP256R1()),
    "ES384": ec.generate_private_key(ec.SECP384R1()),
    "ES512": ec.generate_private_key(ec.SECP521R1()),
}
ED = ed25519.Ed25519PrivateKey.generate()
SECP256K1 = ec.generate_private_key(ec.SECP256K1())

name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "tokens")])
CERTIFICATE = (
    x509.CertificateBuilder()
    .subject_name(name)
    .issuer_name(name)
    .public_key(RSA.public_key())
    .serial_number(1)
    .not_valid_before(datetime.datetime(2020, 1, 1))
    .not_valid_after(datetime.datetime(2050, 1, 1))
    .sign(RSA, hashes.SHA256())
    .public_bytes(serialization.Encoding.PEM)
    .decode()
)

vectors = []


def vector(name, token, expect, kind="connection", jwks=None, **config):
    vectors.append(
        {"name": name, "kind": kind, "token": token, "config": config, "jwks": jwks, "expect": expect}
    )


def sign(key, algorithm, claims=CLAIMS, **headers):
    return jwt.encode(claims, key, algorithm=algorithm, headers=headers or None)


def jwk(key, kid, **more):
    algorithm = {
        rsa.RSAPrivateKey: jwt.algorithms.RSAAlgorithm,
        ec.EllipticCurvePrivateKey: jwt.algorithms.ECAlgorithm,
        ed25519.Ed25519PrivateKey: jwt.algorithms.OKPAlgorithm,
    }
    made = next(cls for base, cls in algorithm.items() if isinstance(key, base))
    return {**json.loads(made.to_jwk(key.public_key())), "kid": kid, "use": "sig", **more} | {"key_ops": ["verify"]}


# What must be good.
for algorithm in ("HS256", "HS384", "HS512"):
    vector(algorithm, sign(SECRET, algorithm), "ok", hmac_secret_key=SECRET)
for algorithm in ("RS256", "RS384", "RS512"):
    vector(algorithm, sign(RSA, algorithm), "ok", rsa_public_key=pem(RSA))
    vector(algorithm + " of another key", sign(RSA_OTHER, algorithm), "invalid", rsa_public_key=pem(RSA))
for algorithm, key in EC.items():
    vector(algorithm, sign(key, algorithm), "ok", ecdsa_public_key=pem(key))
    other = ec.generate_private_key(key.curve)
    vector(algorithm + " of another key", sign(other, algorithm), "invalid", ecdsa_public_key=pem(key))
vector("RS256 by a certificate", sign(RSA, "RS256"), "ok", rsa_public_key=CERTIFICATE)
vector("HS256 by the previous secret", sign("x" * 40, "HS256"), "ok", hmac_secret_key=SECRET, hmac_previous_secret_key="x" * 40)
vector("… in time", sign("x" * 40, "HS256"), "ok", hmac_secret_key=SECRET, hmac_previous_secret_key="x" * 40, hmac_previous_secret_key_valid_until=NOW)
vector("… too late", sign("x" * 40, "HS256"), "invalid", hmac_secret_key=SECRET, hmac_previous_secret_key="x" * 40, hmac_previous_secret_key_valid_until=NOW - 1)

# Keys of a document.
KEYS = [
    jwk(RSA, "rsa"),
    jwk(RSA, "rsa-256", alg="RS256"),
    jwk(RSA, "enc", use="enc"),
    *(jwk(key, algorithm) for algorithm, key in EC.items()),
    jwk(ED, "ed"),
    jwk(RSA_SMALL, "small"),
    {"kty": "oct", "kid": "oct", "use": "sig", "k": b64(SECRET.encode())},
    {"kty": "EC", "crv": "P-256", "kid": "broken", "use": "sig", "x": "AA", "y": "AA"},
]
DOCUMENT = json.dumps({"keys": KEYS})
URL = "https://example.com/jwks.json"
for algorithm in ("RS256", "RS384", "RS512"):
    vector(algorithm + " by JWKS", sign(RSA, algorithm, kid="rsa"), "ok", jwks=DOCUMENT, jwks_public_endpoint=URL)
for algorithm, key in EC.items():
    vector(algorithm + " by JWKS", sign(key, algorithm, kid=algorithm), "ok", jwks=DOCUMENT, jwks_public_endpoint=URL)
vector("EdDSA by JWKS", sign(ED, "EdDSA", kid="ed"), "ok", jwks=DOCUMENT, jwks_public_endpoint=URL)
for name, token in {
    "no kid": sign(RSA, "RS256"),
    "an unknown kid": sign(RSA, "RS256", kid="nobody"),
    "another algorithm than the key's": sign(RSA, "RS512", kid="rsa-256"),
    "a key that encrypts": sign(RSA, "RS256", kid="enc"),
    "a small key": sign(RSA_SMALL, "RS256", kid="small"),
    "a secret of the document": sign(SECRET, "HS256", kid="oct"),
    "an HMAC with a public key": sign("x" * 40, "HS256", kid="rsa"),
    "ES256 with the kid of P-384": sign(EC["ES256"], "ES256", kid="ES384"),
    "a broken key": sign(EC["ES256"], "ES256", kid="broken"),
    "RSA-PSS": sign(RSA, "PS256", kid="rsa"),
}.items():
    vector("JWKS: " + name, token, "invalid", jwks=DOCUMENT, jwks_public_endpoint=URL)
vector("JWKS, and a configured secret", sign(SECRET, "HS256"), "invalid", jwks=DOCUMENT, jwks_public_endpoint=URL, hmac_secret_key=SECRET)
vector("JWKS by tenant", sign(RSA, "RS256", {**CLAIMS, "iss": "https://acme.example"}, kid="rsa"), "ok", jwks=DOCUMENT,
       jwks_public_endpoint="https://{{tenant}}.example/jwks.json", issuer_regex=r"^https://(?P<tenant>acme|globex)\.example$")


# Confusion of algorithms: what a public key is known to everybody for.
def forged(header, secret, digest=hashlib.sha256):
    head = b64(json.dumps(header).encode()) + "." + b64(json.dumps(CLAIMS).encode())
    return head + "." + b64(hmac.new(secret, head.encode(), digest).digest())


public = pem(RSA).encode()
vector("HS256 with the RSA key as its secret", forged({"alg": "HS256", "typ": "JWT"}, public), "invalid", rsa_public_key=pem(RSA))
vector("… with a secret configured, too", forged({"alg": "HS256", "typ": "JWT"}, public), "invalid", rsa_public_key=pem(RSA), hmac_secret_key=SECRET)
vector("none", jwt.encode(CLAIMS, None, algorithm="none"), "invalid", hmac_secret_key=SECRET)
for spelling in ("none", "None", "NONE", "nOnE", "", "hs256"):
    vector(f"alg {spelling!r}", forged({"alg": spelling}, SECRET.encode()), "invalid", hmac_secret_key=SECRET)
vector("no alg", forged({"typ": "JWT"}, SECRET.encode()), "invalid", hmac_secret_key=SECRET)
vector("crit", forged({"alg": "HS256", "crit": ["exp"]}, SECRET.encode()), "invalid", hmac_secret_key=SECRET)
vector("an empty secret", forged({"alg": "HS256"}, b""), "invalid", rsa_public_key=pem(RSA))
vector("ES256 by P-384", sign(EC["ES256"], "ES256"), "invalid", ecdsa_public_key=pem(EC["ES384"]))
vector("RS256, and an EC key", sign(RSA, "RS256"), "invalid", ecdsa_public_key=pem(EC["ES256"]))
vector("RSA-PSS", sign(RSA, "PS256"), "invalid", rsa_public_key=pem(RSA))
vector("EdDSA without JWKS", sign(ED, "EdDSA"), "invalid", rsa_public_key=pem(RSA))

# Forms.
good = sign(SECRET, "HS256")
head, body, signature = good.split(".")
for name, token in {
    "two pieces": head + "." + body,
    "four pieces": good + ".",
    "an empty signature": head + "." + body + ".",
    "padding": good + "=",
    "the other alphabet": head + "." + body + "." + "+" + signature[1:],
    "claims that are changed": head + "." + b64(json.dumps({**CLAIMS, "sub": "1"}).encode()) + "." + signature,
    "a header that is no JSON": b64(b"{") + "." + body + "." + signature,
    "a header that is a list": b64(b"[]") + "." + body + "." + signature,
    "nothing": "",
    "dots": "..",
    "claims that are a list": jwt.api_jws.encode(b"[]", SECRET, "HS256"),
    "claims that are no UTF-8": jwt.api_jws.encode(b'{"sub":"\xff"}', SECRET, "HS256"),
    "a subject that is a number": jwt.api_jws.encode(b'{"sub":42}', SECRET, "HS256"),
    "an expiry that is a text": jwt.api_jws.encode(b'{"exp":"1"}', SECRET, "HS256"),
}.items():
    vector(name, token, "invalid", hmac_secret_key=SECRET)

# Times, issuers, audiences.
for name, claims, expect in (
    ("expired", {"exp": NOW - 1}, "expired"),
    ("expires now", {"exp": NOW}, "expired"),
    ("expires in a second", {"exp": NOW + 1}, "ok"),
    ("a fraction of a second", {"exp": NOW + 0.5}, "ok"),
    ("not yet", {"nbf": NOW + 1}, "expired"),
    ("already", {"nbf": NOW - 1}, "ok"),
    ("never expires", {}, "ok"),
    ("issued later", {"iat": NOW + 100}, "ok"),
):
    vector(name, sign(SECRET, "HS256", {"sub": "42", **claims}), expect, hmac_secret_key=SECRET)
for name, claims, config, expect in (
    ("an audience", {"aud": "a"}, {"audience": "a"}, "ok"),
    ("one of two", {"aud": ["b", "a"]}, {"audience": "a"}, "ok"),
    ("another audience", {"aud": "b"}, {"audience": "a"}, "invalid"),
    ("no audience", {}, {"audience": "a"}, "invalid"),
    ("no list of audiences", {"aud": 1}, {"audience": "a"}, "invalid"),
    ("an audience by a pattern", {"aud": ["x", "ab"]}, {"audience_regex": "^a.$"}, "ok"),
    ("no audience by a pattern", {"aud": ["x"]}, {"audience_regex": "^a.$"}, "invalid"),
    ("an issuer", {"iss": "i"}, {"issuer": "i"}, "ok"),
    ("another issuer", {"iss": "j"}, {"issuer": "i"}, "invalid"),
    ("an issuer by a pattern", {"iss": "ij"}, {"issuer_regex": "^i.$"}, "ok"),
    ("no issuer by a pattern", {}, {"issuer_regex": "^i.$"}, "invalid"),
    ("another issuer, and expired", {"iss": "j", "exp": NOW - 1}, {"issuer": "i"}, "invalid"),
):
    vector(name, sign(SECRET, "HS256", {**CLAIMS, **claims}), expect, hmac_secret_key=SECRET, **config)

# Kinds.
vector("a subscription's token to connect with", sign(SECRET, "HS256", {**CLAIMS, "channel": "c"}), "invalid", hmac_secret_key=SECRET)
vector("a subscription's token", sign(SECRET, "HS256", {**CLAIMS, "channel": "c"}), "ok", kind="subscription", hmac_secret_key=SECRET)
vector("a connection's token to subscribe with", sign(SECRET, "HS256"), "invalid", kind="subscription", hmac_secret_key=SECRET)

document = {
    "now": NOW,
    "keys": {
        "small RSA": ["rsa_public_key", pem(RSA_SMALL)],
        "another curve": ["ecdsa_public_key", pem(SECP256K1)],
        "EC for RSA": ["rsa_public_key", pem(EC["ES256"])],
        "RSA for EC": ["ecdsa_public_key", pem(RSA)],
        "no PEM": ["rsa_public_key", "secret"],
    },
    "vectors": vectors,
}
path = pathlib.Path(__file__).with_name("vectors.json")
path.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n")
print(len(vectors), "tokens")
