"""Tokens of an issuer, made with the openssl program, so that nothing of the broker's own code is in them."""

import base64
import hashlib
import hmac
import json
import os
import subprocess
import time

COORDINATE_BYTES = 32


def base64url(data):
    """Without padding."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def from_base64url(text):
    """The bytes."""
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def openssl(*args, data=b""):
    """What it prints."""
    return subprocess.run(["openssl", *args], input=data, capture_output=True, check=True, timeout=60).stdout


def raw_signature(der):
    """r and s of an ECDSA signature, 32 bytes each."""
    numbers, at = [], 2 + (der[1] == 0x81)
    for _ in range(2):
        length = der[at + 1]
        numbers.append(int.from_bytes(der[at + 2:at + 2 + length], "big").to_bytes(COORDINATE_BYTES, "big"))
        at += 2 + length
    return b"".join(numbers)


class Signer:
    """A key of an issuer, in `directory`. `alg`: HS256, RS256, ES256 or EdDSA."""

    def __init__(self, alg, directory, kid=None, secret="an issuer's secret of 32 bytes or more"):
        self.alg, self.kid, self.secret = alg, kid, secret
        self.key_file = os.path.join(directory, f"{alg}-{kid or 'key'}.pem")
        if alg == "RS256":
            openssl("genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048", "-out", self.key_file)
        elif alg == "ES256":
            openssl("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", self.key_file)
        elif alg == "EdDSA":
            openssl("genpkey", "-algorithm", "ED25519", "-out", self.key_file)

    def public_pem(self):
        """The public key."""
        return openssl("pkey", "-in", self.key_file, "-pubout").decode()

    def _der(self):
        return openssl("pkey", "-in", self.key_file, "-pubout", "-outform", "DER")

    def jwk(self):
        """The public key as an issuer publishes it."""
        key = {"use": "sig", "alg": self.alg}
        if self.kid:
            key["kid"] = self.kid
        if self.alg == "RS256":
            modulus = openssl("rsa", "-in", self.key_file, "-noout", "-modulus").decode().strip().partition("=")[2]
            return key | {"kty": "RSA", "n": base64url(bytes.fromhex(modulus)), "e": "AQAB"}
        if self.alg == "ES256":
            point = self._der()[-2 * COORDINATE_BYTES:]
            return key | {"kty": "EC", "crv": "P-256", "x": base64url(point[:COORDINATE_BYTES]),
                          "y": base64url(point[COORDINATE_BYTES:])}
        return key | {"kty": "OKP", "crv": "Ed25519", "x": base64url(self._der()[-COORDINATE_BYTES:])}

    def signature(self, text):
        """Of these bytes."""
        if self.alg == "HS256":
            return hmac.new(self.secret.encode(), text, hashlib.sha256).digest()
        if self.alg == "EdDSA":
            message = self.key_file + ".message"  # openssl signs only files with Ed25519
            with open(message, "wb") as file:
                file.write(text)
            return openssl("pkeyutl", "-sign", "-rawin", "-inkey", self.key_file, "-in", message)
        signature = openssl("dgst", "-sha256", "-sign", self.key_file, data=text)
        return raw_signature(signature) if self.alg == "ES256" else signature

    def token(self, header=None, **claims):
        """A token. Claims that are None are left out; it is valid for an hour unless `exp` says more."""
        head = {"alg": self.alg, "typ": "JWT"} | ({"kid": self.kid} if self.kid else {}) | (header or {})
        body = {"sub": "somebody", "role": "admin", "exp": int(time.time()) + 3600} | claims
        body = {name: value for name, value in body.items() if value is not None}
        text = ".".join(base64url(json.dumps(part).encode()) for part in (head, body))
        return text + "." + base64url(self.signature(text.encode()))


def bearer(token):
    """The header of a request."""
    return {"Authorization": f"Bearer {token}"}
