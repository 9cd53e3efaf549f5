"""A curious, then a lying server: everything it may try with the messages of a session to learn one client's update."""

import logging
from typing import Any

import numpy as np
import pytest

from covey.secure import Refused, Session, Terms, TooFew, shamir
from covey.secure.client import EXTRA
from covey.secure.keys import KeyPair, commitment, mask
from covey.secure.messages import KeyList, Masked, ShareList, Shares, Unmasking, UnmaskRequest

SIZE, VALUES = 6, 20_000
SECRET = np.linspace(-1, 1, VALUES)


def masked_session(seed=0, **terms):
    """A session up to the masked vectors, and everything that the server has seen in it."""
    rng = np.random.default_rng(seed)
    session = Session(Terms(clients=tuple(range(SIZE)), values=VALUES, **terms), simulation_rng=rng)
    seen = {}
    receive = session.server.receive

    def overheard(sender, data):
        seen[sender, data[5]] = data
        receive(sender, data)

    session.server.receive = overheard  # type: ignore[method-assign]  # the server writes down what it hears
    session.open()
    for u in range(SIZE):
        session.add(u, SECRET if u == 0 else np.zeros(VALUES))
    return session, seen


def words_of(seen, client):
    return Masked.from_bytes(seen[client, Masked.kind]).vector


def looks_random(words):
    """Chi-squared over the top bytes of 20,000 words: mean 255, standard deviation sqrt(2 x 255) = 22.6."""
    counts = np.bincount(words >> 24, minlength=256)
    expected = len(words) / 256
    return ((counts - expected) ** 2 / expected).sum() < 255 + 6 * 22.6


def test_a_masked_vector_looks_random_and_the_plain_one_does_not():
    session, seen = masked_session()
    plain, _ = session.server.fixed.encode(SECRET)
    assert not looks_random(plain)
    for u in range(SIZE):
        assert looks_random(words_of(seen, u)[EXTRA:])
        assert abs(np.corrcoef(words_of(seen, u)[EXTRA:].astype(float), SECRET)[0, 1]) < 0.03


def test_a_client_without_anything_looks_like_one_with_an_update():
    """The same secrets, other values: the server cannot tell which was masked, since each fits some masks."""
    session, seen = masked_session()
    plain, _ = session.server.fixed.encode(SECRET)
    guess_secret = words_of(seen, 0)[EXTRA:] - plain
    guess_nothing = words_of(seen, 0)[EXTRA:]
    assert looks_random(guess_secret)
    assert looks_random(guess_nothing)


def test_after_unmasking_the_server_has_the_self_mask_and_still_not_the_update():
    session, seen = masked_session()
    total = session.close()
    assert np.allclose(total.values, SECRET, atol=1e-5)  # the others had nothing: the sum is what the server may know
    shares = {v: Unmasking.from_bytes(seen[v, Unmasking.kind]).self_masks for v in range(SIZE)}
    for u in range(SIZE):
        self_mask = shamir.combine({v + 1: shares[v][u] for v in range(session.server.threshold)})
        assert commitment(self_mask, session.server.session) == Shares.from_bytes(seen[u, Shares.kind]).commitment
        left = mask(words_of(seen, u).copy(), self_mask, subtract=True)
        assert looks_random(left[EXTRA:])  # the masks with the other five are still on


def test_no_client_gives_both_secrets_of_one_client():
    session, _ = masked_session()
    everybody = tuple(range(SIZE))
    both = UnmaskRequest(session=session.server.session, heard=everybody, lost=(0,))
    with pytest.raises(Refused, match="only one of its secrets"):
        session.clients[1].unmask(both.to_bytes())
    session.clients[1].unmask(UnmaskRequest(session=session.server.session, heard=everybody, lost=()).to_bytes())
    later = UnmaskRequest(session=session.server.session, heard=everybody[1:], lost=(0,))
    with pytest.raises(Refused, match="has answered UnmaskRequest"):
        session.clients[1].unmask(later.to_bytes())


@pytest.mark.parametrize("told_lost", range(1, SIZE))
def test_telling_clients_different_stories_gives_one_secret_at_most(told_lost):
    """Some clients hear that client 0 was lost, the others that it was heard; a threshold above half allows one."""
    session, seen = masked_session()
    server, everybody = session.server, tuple(range(SIZE))
    pieces: dict[str, dict[int, Any]] = {"self_masks": {}, "masking_keys": {}}
    for u in range(1, SIZE):
        lost = (0,) if u <= told_lost else ()
        heard = tuple(v for v in everybody if v not in lost)
        request = UnmaskRequest(session=server.session, heard=heard, lost=lost)
        answer = Unmasking.from_bytes(session.clients[u].unmask(request.to_bytes()))
        for name, found in pieces.items():
            if 0 in getattr(answer, name):
                found[u + 1] = getattr(answer, name)[0]
    recovered = 0
    if pieces["self_masks"]:
        guess = shamir.combine(pieces["self_masks"])
        recovered += commitment(guess, server.session) == Shares.from_bytes(seen[0, Shares.kind]).commitment
    if pieces["masking_keys"]:
        pair = KeyPair(shamir.combine(pieces["masking_keys"]))
        recovered += pair.public == server._keys[0].masking
    assert server.threshold == 5
    assert recovered == (told_lost == 5)


def test_a_sum_of_too_few_is_not_unmasked():
    session, _ = masked_session()
    alone = UnmaskRequest(session=session.server.session, heard=(0, 1), lost=(2, 3, 4, 5))
    with pytest.raises(Refused, match="fewer than 5"):
        session.clients[0].unmask(alone.to_bytes())
    without_me = UnmaskRequest(session=session.server.session, heard=(1, 2, 3, 4, 5), lost=())
    with pytest.raises(Refused, match="not part of"):
        session.clients[0].unmask(without_me.to_bytes())
    stranger = UnmaskRequest(session=session.server.session, heard=(0, 1, 2, 3, 4, 9), lost=())
    with pytest.raises(Refused, match="client 9 has shared no secret"):
        session.clients[0].unmask(stranger.to_bytes())


def test_below_the_threshold_the_server_asks_for_nothing():
    rng = np.random.default_rng(0)
    session = Session(Terms(clients=tuple(range(SIZE)), values=3), simulation_rng=rng)
    session.open()
    for u in range(4):
        session.add(u, [1.0, 2.0, 3.0])
    with pytest.raises(TooFew, match="4 clients around client 0 sent their masked vectors; at least 5"):
        session.close()
    assert not session.server._given
    assert all(client._answered == 3 for u, client in session.clients.items() if u < 4)


def test_a_client_masks_once():
    """Two vectors behind the same masks would show their difference."""
    session, _ = masked_session()
    with pytest.raises(Refused, match="has answered ShareList"):
        session.clients[0].mask(session._lists[0], np.zeros(VALUES))


def test_lists_that_leave_a_client_without_company_are_refused():
    rng = np.random.default_rng(0)
    session = Session(Terms(clients=tuple(range(SIZE)), values=3), simulation_rng=rng)
    server, client = session.server, session.clients[0]
    for u, invitation in server.invite().items():
        server.receive(u, session.clients[u].join(invitation))
    real = KeyList.from_bytes(server.close_keys()[0])
    pick = {v: real.sealing[v] for v in (1, 2)}
    lonely = KeyList(session=real.session, sealing=pick, masking={v: real.masking[v] for v in pick})
    with pytest.raises(Refused, match="3 clients are left; at least 5"):
        client.share(lonely.to_bytes())
    same = KeyList(session=real.session, sealing=dict.fromkeys(real.sealing, real.sealing[1]), masking=real.masking)
    with pytest.raises(Refused, match="twice"):
        client.share(same.to_bytes())
    stranger = KeyList(session=real.session, sealing={**real.sealing, 9: b"k" * 32}, masking=real.masking)
    with pytest.raises(Refused, match="client 9 is none of the neighbours"):
        client.share(stranger.to_bytes())
    client.share(real.to_bytes())  # what was refused has changed nothing
    with pytest.raises(Refused, match="3 clients are left"):
        client.mask(ShareList(session=real.session, sealed={1: b"", 2: b""}).to_bytes(), [0.0, 0.0, 0.0])


def test_messages_out_of_turn_or_from_elsewhere_are_refused():
    session, _ = masked_session()
    client = session.clients[0]
    request = UnmaskRequest(session=bytes(16), heard=tuple(range(SIZE)), lost=())
    with pytest.raises(Refused, match="another session"):
        client.unmask(request.to_bytes())
    with pytest.raises(Refused, match="client 3 is not the server"):
        client.unmask(UnmaskRequest(session=client._session, sender=3, heard=(0,), lost=()).to_bytes())
    fresh = Session(Terms(clients=(0, 1), values=1)).clients[0]
    with pytest.raises(Refused, match="cannot yet answer"):
        fresh.unmask(request.to_bytes())


def test_secrets_are_in_no_text_and_no_log(caplog):
    with caplog.at_level(logging.DEBUG):
        session, _ = masked_session()
        session.close()
    shown = repr(session.clients) + repr(session.server) + caplog.text + repr(session.server.refused)
    for client in session.clients.values():
        for secret in (client._self_mask, client._masking.secret, client._sealing.secret):
            assert secret.hex() not in shown
            assert repr(secret)[2:-1] not in shown
