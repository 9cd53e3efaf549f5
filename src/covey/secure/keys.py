"""The cryptography that secure aggregation stands on, all of it from `cryptography`.

Key agreement is X25519, keys for one purpose each come out of it by HKDF with SHA-256, messages between clients are
sealed with AES-256-GCM, and masks are the key stream of ChaCha20.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import numpy as np

from covey.errors import BadValue
from covey.secure.fixed import Words
from covey.secure.shamir import Entropy

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

KEY_BYTES = 32
NONCE_BYTES = 12
TAG_BYTES = 16
BLOCK = 2**15


class KeyPair:
    """An X25519 key pair; `secret` is its private half, which no text of it shows."""

    def __init__(self, secret: bytes) -> None:
        try:
            from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
        except ModuleNotFoundError:
            raise BadValue("secure", "no `cryptography` here", "used after: pip install 'covey[secure]'") from None
        self._key: X25519PrivateKey = X25519PrivateKey.from_private_bytes(secret)
        self.secret = secret
        self.public = self._key.public_key().public_bytes_raw()

    def __repr__(self) -> str:
        return f"KeyPair(public={self.public.hex()[:8]}…)"

    def agree(self, public: bytes, session: bytes, purpose: str) -> bytes:
        """The key that this pair and another's public half have in common, for one session and purpose."""
        from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PublicKey
        from cryptography.hazmat.primitives.hashes import SHA256
        from cryptography.hazmat.primitives.kdf.hkdf import HKDF

        try:
            shared = self._key.exchange(X25519PublicKey.from_public_bytes(public))
        except ValueError:  # the wrong length, or a point with which everybody would agree on the same key
            raise BadValue("public key", public.hex(), "an X25519 public key") from None
        return HKDF(SHA256(), KEY_BYTES, salt=session, info=f"covey {purpose}".encode()).derive(shared)


def seal(key: bytes, message: bytes, context: bytes, entropy: Entropy) -> bytes:
    """The message, encrypted and authenticated together with its context."""
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    nonce = entropy(NONCE_BYTES)
    return nonce + AESGCM(key).encrypt(nonce, message, context)


def unseal(key: bytes, sealed: bytes, context: bytes) -> bytes | None:
    """The message; nothing where it, or its context, is not what was sealed."""
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    if len(sealed) < NONCE_BYTES + TAG_BYTES:
        return None
    try:
        return AESGCM(key).decrypt(sealed[:NONCE_BYTES], sealed[NONCE_BYTES:], context)
    except InvalidTag:
        return None


def mask(vector: Words, seed: bytes, *, subtract: bool = False) -> Words:
    """Add to a vector, in place, the random words of a seed: the same for everybody who knows the seed.

    >>> vector = mask(np.zeros(3, dtype=np.uint32), bytes(32))
    >>> vector.any(), mask(vector, bytes(32), subtract=True).tolist()
    (np.True_, [0, 0, 0])
    """
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms

    cipher = Cipher(algorithms.ChaCha20(seed, bytes(16)), mode=None).encryptor()
    combine = np.subtract if subtract else np.add
    space = memoryview(bytearray(4 * min(BLOCK, len(vector))))
    zeros, words = memoryview(bytes(space.nbytes)), np.frombuffer(space, dtype="<u4")
    for start in range(0, len(vector), BLOCK):  # blocks that stay in the processor's cache
        part = vector[start : start + BLOCK]
        cipher.update_into(zeros[: part.nbytes], space[: part.nbytes])
        combine(part, words[: len(part)], out=part)
    return vector


def commitment(secret: bytes, session: bytes) -> bytes:
    """A digest that tells whether a secret is the right one, and nothing else about it."""
    return hashlib.sha256(b"covey self-mask" + session + secret).digest()
