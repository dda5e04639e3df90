"""Certificates for tests, made with the openssl program."""

import os
import ssl
import subprocess


class Authority:
    """A certificate authority in `directory`, and what it signs."""

    def __init__(self, directory, name="authority"):
        self.directory = str(directory)
        self.name = name
        self.certificate, self._key = self._make(name, "-subj", f"/CN={name}")

    def _make(self, name, *more):
        certificate, key = (os.path.join(self.directory, f"{name}.{end}") for end in ("crt", "key"))
        # Beside their places, so that a broker that reads them now sees the old or the new.
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                        "-keyout", key + ".new", "-out", certificate + ".new", "-days", "30", *more],
                       check=True, capture_output=True)
        os.rename(key + ".new", key)
        os.rename(certificate + ".new", certificate)
        return certificate, key

    def issue(self, name, subject=None):
        """(certificate, key): files for 127.0.0.1, localhost and ::1 in the subject `subject`, or the common name."""
        return self._make(name, "-subj", subject or f"/CN={name}", "-CA", self.certificate, "-CAkey", self._key,
                          "-addext", "subjectAltName=IP:127.0.0.1,IP:::1,DNS:localhost")

    def client(self, certificate=None, version=None):
        """A context that trusts this authority, shows `certificate` and speaks `version` only."""
        context = ssl.create_default_context(cafile=self.certificate)
        if certificate:
            context.load_cert_chain(*certificate)
        if version:
            context.minimum_version = context.maximum_version = version
        return context
