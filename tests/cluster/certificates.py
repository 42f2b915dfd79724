"""A certificate authority for one cluster, made with openssl."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

CONFIG = """\
[req]
distinguished_name = name
prompt = no
[name]
[ca]
basicConstraints = critical, CA:TRUE
keyUsage = critical, keyCertSign, cRLSign
subjectKeyIdentifier = hash
[serving]
basicConstraints = critical, CA:FALSE
keyUsage = critical, digitalSignature
extendedKeyUsage = serverAuth
subjectAltName = IP:127.0.0.1, DNS:localhost, DNS:kubernetes.default.svc
[client]
basicConstraints = critical, CA:FALSE
keyUsage = critical, digitalSignature
extendedKeyUsage = clientAuth
"""
NEW_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "3650")


class Authority:
    """The folder then holds ca.crt and ca.key, and NAME.crt and NAME.key for each certificate asked for."""

    def __init__(self, folder: Path, name: str = "hookd test CA") -> None:
        self.folder = folder
        self.ca = folder / "ca.crt"
        self._config = folder / "openssl.cnf"
        self._config.write_text(CONFIG)
        self._request("ca", "ca", f"/CN={name}")

    def serving(self, name: str) -> tuple[Path, Path]:
        return self._signed(name, "serving", f"/CN={name}")

    def client(self, name: str, groups: Sequence[str] = ()) -> tuple[Path, Path]:
        """A certificate that authenticates as the user NAME in these groups."""
        return self._signed(name, "client", "".join(f"/O={group}" for group in groups) + f"/CN={name}")

    def key_pair(self, name: str) -> tuple[Path, Path]:
        """A bare key pair, (public, private): what signs service account tokens."""
        public, private = self.folder / f"{name}.pub", self.folder / f"{name}.key"
        openssl("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", private)
        openssl("pkey", "-in", private, "-pubout", "-out", public)
        return public, private

    def _signed(self, name: str, kind: str, subject: str) -> tuple[Path, Path]:
        return self._request(name, kind, subject, "-CA", self.ca, "-CAkey", self.folder / "ca.key")

    def _request(self, name: str, kind: str, subject: str, *signer: str | Path) -> tuple[Path, Path]:
        certificate, key = self.folder / f"{name}.crt", self.folder / f"{name}.key"
        openssl("req", "-x509", "-config", self._config, "-extensions", kind, "-subj", subject, *NEW_KEY, *signer,
                "-out", certificate, "-keyout", key)  # fmt: skip
        return certificate, key


def openssl(*words: str | Path) -> None:
    done = subprocess.run(["openssl", *map(str, words)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"openssl {words[0]} failed: {done.stderr.strip()}")
