"""The client of secure aggregation: four messages in, four out, and no secret that leaves it in the clear.

Bonawitz et al., "Practical Secure Aggregation for Privacy-Preserving Machine Learning", CCS 2017, without signatures;
on a sparse graph it is Bell et al.'s SecAgg+ (CCS 2020). Symbols: `self_mask` is b_u, `masking` is the key pair s_u,
`sealing` is c_u. Client u sends x_u + PRG(b_u) + the sum over neighbours v of PRG(s_uv) if u < v, -PRG(s_uv) if u > v.

A client answers each round once. It never gives away shares of both the self-mask and the masking key of one client,
whatever it is asked; since the threshold is more than half, no server can collect both from honest clients.
"""

from __future__ import annotations

import secrets
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from covey.errors import BadValue
from covey.secure import shamir
from covey.secure.fixed import FixedPoint, Words
from covey.secure.keys import KEY_BYTES, KeyPair, commitment, mask, seal, unseal
from covey.secure.messages import (
    SERVER,
    Invitation,
    KeyList,
    Keys,
    Masked,
    Message,
    Refused,
    ShareList,
    Shares,
    Unmasking,
    UnmaskRequest,
)
from covey.secure.noise import discrete_gaussian
from covey.secure.shamir import SHARE_BYTES, Entropy

EXTRA = 2  # words before the values: the weight, and how many values were clipped
ROUNDS = (Invitation, KeyList, ShareList, UnmaskRequest)
M = TypeVar("M", bound=Message)


class Client:
    """One client in one session. `entropy` is the system's own; only simulations bring another."""

    def __init__(self, number: int, *, entropy: Entropy = secrets.token_bytes) -> None:
        if not 0 <= number < SERVER:
            raise BadValue("client", number, "a whole number from 0 up and below 2^32 - 1")
        self.number = number
        self.unreadable: dict[int, str] = {}  # neighbours whose shares this client cannot use, and why
        self._entropy = entropy
        self._session = b""
        self._answered = 0

    def __repr__(self) -> str:
        return f"Client({self.number}, answered {self._answered} of {len(ROUNDS)} rounds)"

    def join(self, data: bytes) -> bytes:
        """Round 1: accept the invitation, give public keys."""
        invitation = Invitation.from_bytes(data)
        self._expect(invitation)
        self._fixed: FixedPoint = invitation.check()
        if self.number in invitation.neighbours:
            raise Refused(f"client {self.number} is its own neighbour")
        self._terms, self._session = invitation, invitation.session
        self._sealing, self._masking = KeyPair(self._entropy(KEY_BYTES)), KeyPair(self._entropy(KEY_BYTES))
        return self._answer(Keys, sealing=self._sealing.public, masking=self._masking.public)

    def share(self, data: bytes) -> bytes:
        """Round 2: cut the secrets into shares, seal one for every neighbour."""
        keys = KeyList.from_bytes(data)
        self._expect(keys)
        self._check_members(keys.sealing, self._terms.neighbours, "neighbours")
        if keys.sealing.keys() != keys.masking.keys():
            raise Refused("the lists of sealing and of masking keys name different clients")
        public = [*keys.sealing.values(), *keys.masking.values(), self._sealing.public, self._masking.public]
        if len(set(public)) < len(public):
            raise Refused("a public key is on the list twice")
        self._keys = keys
        self._self_mask = self._entropy(KEY_BYTES)
        points = sorted([*keys.sealing, self.number])
        halves = [
            shamir.split(secret, [u + 1 for u in points], self._terms.threshold, self._entropy)
            for secret in (self._self_mask, self._masking.secret)
        ]
        self._held = {self.number: tuple(half[self.number + 1] for half in halves)}
        sealed = {}
        self._seals = {}
        for v, key in keys.sealing.items():
            self._seals[v] = self._agree(self._sealing, key, "sealing", v)
            shares = b"".join(half[v + 1] for half in halves)
            sealed[v] = seal(self._seals[v], shares, self._context(self.number, v), self._entropy)
        return self._answer(Shares, commitment=commitment(self._self_mask, self._session), sealed=sealed)

    def mask(self, data: bytes, values: ArrayLike, weight: float = 1.0) -> bytes:
        """Round 3: the weight, the number of clipped values, and weight x values, behind masks."""
        shares = ShareList.from_bytes(data)
        self._expect(shares)
        self._check_members(shares.sealed, tuple(self._keys.sealing), "clients that have given keys")
        vector = self._encode(np.asarray(values), weight)
        for v, sealed in shares.sealed.items():
            opened = unseal(self._seals[v], sealed, self._context(v, self.number))
            if opened is None or len(opened) != 2 * SHARE_BYTES:
                self.unreadable[v] = "its sealed shares were tampered with"
            else:
                self._held[v] = opened[:SHARE_BYTES], opened[SHARE_BYTES:]
        self._sharing = tuple(shares.sealed)
        mask(vector, self._self_mask)
        for v in self._sharing:
            pair = self._agree(self._masking, self._keys.masking[v], "masking", v)
            mask(vector, pair, subtract=self.number > v)
        return self._answer(Masked, vector=vector)

    def unmask(self, data: bytes) -> bytes:
        """Round 4: of every neighbour a share of the self-mask if it was heard, of the masking key if it was lost."""
        request = UnmaskRequest.from_bytes(data)
        self._expect(request)
        heard, lost = set(request.heard), set(request.lost)
        if heard & lost:
            raise Refused(f"client {min(heard & lost)} is said to be heard and lost; only one of its secrets is given")
        if self.number not in heard:
            raise Refused(f"client {self.number} is asked to unmask a sum that it is not part of")
        if unknown := (heard | lost) - {*self._sharing, self.number}:
            raise Refused(f"client {min(unknown)} has shared no secret with client {self.number}")
        if len(heard) < self._terms.threshold:
            raise Refused(
                f"{len(heard)} clients were heard; a sum of fewer than {self._terms.threshold} is not unmasked"
            )
        return self._answer(
            Unmasking,
            self_masks={u: self._held[u][0] for u in heard if u in self._held},
            masking_keys={u: self._held[u][1] for u in lost if u in self._held},
        )

    def _expect(self, message: Message) -> None:
        """Refuse what is not the server's message of the round that is next; what is refused changes nothing."""
        if message.sender != SERVER:
            raise Refused(f"client {message.sender} is not the server")
        if self._session and message.session != self._session:
            raise Refused("the message belongs to another session")
        number = ROUNDS.index(type(message))
        if number != self._answered:
            tense = "has answered" if number < self._answered else "cannot yet answer"
            raise Refused(f"client {self.number} {tense} {type(message).__name__} of this aggregation")

    def _check_members(self, named: dict[int, bytes], known: tuple[int, ...], what: str) -> None:
        if unknown := named.keys() - set(known):
            raise Refused(f"client {min(unknown)} is none of the {what} of client {self.number}")
        if len(named) + 1 < self._terms.threshold:
            raise Refused(f"{len(named) + 1} clients are left; at least {self._terms.threshold} are needed")

    def _encode(self, values: NDArray[np.float64], weight: float) -> Words:
        """The vector before it is masked; refuses what cannot be added up."""
        terms, fixed = self._terms, self._fixed
        if values.shape != (terms.values,):
            raise Refused(f"the values have shape {values.shape}; expected was ({terms.values},)")
        if not 0 < weight <= terms.max_weight:
            raise Refused(f"the weight is {weight:g}; allowed is above 0 and at most {terms.max_weight:g}")
        if terms.norm:
            weight = terms.max_weight
            length = float(np.linalg.norm(values.astype(np.float64)))
            values = values * min(1.0, terms.norm / length) if length else values
        half = fixed.levels // 2
        share = max(1, round(weight / terms.max_weight * half))
        try:
            words, clipped = fixed.encode(values, share / half)
        except BadValue as error:
            raise Refused(str(error)) from None
        if terms.noise:
            noise = discrete_gaussian(terms.noise / fixed.resolution, len(words), self._entropy(KEY_BYTES))
            words += noise.astype(np.uint32)
        return np.concatenate([np.array([share, clipped], dtype=np.uint32), words])

    def _agree(self, pair: KeyPair, public: bytes, purpose: str, other: int) -> bytes:
        low, high = sorted((self.number, other))
        try:
            return pair.agree(public, self._session, f"{purpose} {low} {high}")
        except BadValue as error:
            raise Refused(f"client {other}: {error}") from None

    def _context(self, source: int, target: int) -> bytes:
        return self._session + source.to_bytes(4, "little") + target.to_bytes(4, "little")

    def _answer(self, kind: type[M], **fields: object) -> bytes:
        """The answer to a round, which is over with it: masks and secrets are for one use."""
        self._answered += 1
        return kind(session=self._session, sender=self.number, **fields).to_bytes()
