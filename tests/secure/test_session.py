"""Client and server together: the secure mean is the mean, whoever is lost and whenever."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from covey.errors import BadValue
from covey.secure import Client, Refused, Session, Terms, TooFew, simulate
from covey.secure.graph import complete_threshold
from covey.secure.messages import Masked
from covey.secure.simulate import STAGES


def rng(seed=0):
    return np.random.default_rng(seed)


@st.composite
def groups(draw):
    """Clients with values and weights, and who of them is lost before which round."""
    size = draw(st.integers(2, 6))
    clients = draw(st.lists(st.integers(0, 1000), min_size=size, max_size=size, unique=True))
    drawn = rng(draw(st.integers(0, 2**32)))
    values = {u: drawn.normal(size=draw(st.shared(st.integers(1, 6), key="values"))) for u in clients}
    weights = {u: draw(st.floats(0.01, 1000)) for u in clients}
    lost = draw(st.dictionaries(st.sampled_from(clients), st.sampled_from(STAGES), max_size=size))
    return values, weights, lost


@settings(max_examples=1000, deadline=None)
@given(groups(), st.booleans())
def test_the_secure_mean_is_the_mean_of_those_who_were_heard(group, half):
    values, weights, lost = group
    size = len(values)
    threshold = size // 2 + 1 if half else complete_threshold(size)
    if size - len(lost) < threshold:
        with pytest.raises(TooFew):
            simulate(values, weights=weights, lost=lost, threshold=threshold, simulation_rng=rng(size))
        return
    total, session = simulate(values, weights=weights, lost=lost, threshold=threshold, simulation_rng=rng(size))
    heard = [u for u in values if lost.get(u) in (None, "unmask")]
    assert total.clients == tuple(sorted(heard))
    assert total.clipped == 0
    largest, fixed = max(weights.values()), session.server.fixed
    # each weight is rounded to half a level of its own and each product to half a level of the values
    off_weight = largest / fixed.levels
    assert abs(total.weight - sum(weights[u] for u in heard)) <= 2 * len(heard) * off_weight
    mean = sum(weights[u] * values[u] for u in heard) / sum(weights[u] for u in heard)
    spread = max(np.abs(values[u] - mean).max() for u in heard)
    bound = len(heard) * (largest * fixed.resolution / 2 + 2 * off_weight * spread) / total.weight
    assert np.abs(total.mean - mean).max() <= bound * 1.000001 + 1e-12


def test_weighted_by_hand():
    values, weights = {3: [1.0, -2.0], 5: [0.0, 4.0], 9: [3.0, 1.0]}, {3: 1.0, 5: 2.0, 9: 4.0}
    total, _ = simulate(values, weights=weights)
    # (1 + 0 + 12) / 7, (-2 + 8 + 4) / 7
    assert total.weight == 7
    assert np.allclose(total.mean, [13 / 7, 10 / 7], atol=1e-7)


def test_values_outside_the_clip_range_are_clipped_and_counted():
    total, _ = simulate({0: [9.0, 0.0], 1: [-20.0, 0.0], 2: [1.0, 0.0]}, clip=2.0)
    assert np.allclose(total.mean, [(2 - 2 + 1) / 3, 0.0], atol=1e-8)
    assert total.clipped == 2


def test_a_seeded_session_repeats_to_the_bit_and_a_real_one_does_not():
    values = {u: [0.1 * u] for u in range(4)}

    def masked(random):
        session = Session(Terms(clients=tuple(values), values=1), **({"simulation_rng": random} if random else {}))
        session.open()
        return session.clients[0].mask(session._lists[0], values[0])

    assert masked(rng(1)) == masked(rng(1)) != masked(rng(2))
    assert masked(None) != masked(None)


@pytest.mark.parametrize("neighbours", [8, "log"])
def test_sparse_graph(neighbours):
    drawn = rng()
    values = {u: drawn.normal(size=5) for u in range(60)}
    lost = {3: "masked", 17: "shares", 40: "keys", 50: "unmask"}
    threshold = 5 if neighbours == 8 else 0
    total, session = simulate(values, neighbours=neighbours, lost=lost, threshold=threshold, simulation_rng=rng())
    heard = [u for u in values if u not in (3, 17, 40)]
    assert np.allclose(total.mean, np.mean([values[u] for u in heard], axis=0), atol=1e-6)
    degree = {len(near) for near in session.server.neighbours.values()}
    assert degree == {8} if neighbours == 8 else max(degree) < 59


def test_sparse_clients_do_less():
    values = {u: np.zeros(1000) for u in range(30)}
    all_others, few = (simulate(values, neighbours=k, simulation_rng=rng())[1] for k in (0, 6))
    assert few.bytes[0] < all_others.bytes[0]


def test_a_sparse_graph_that_falls_apart_is_given_up():
    """A ring of 8 in which each has 2 neighbours, threshold 2: without the two at its ends it is two parts."""
    values = {u: [float(u)] for u in range(8)}
    near = Session(
        Terms(clients=tuple(values), values=1, neighbours=2, threshold=2), simulation_rng=rng()
    ).server.neighbours
    order = [0, near[0][0]]
    while len(order) < 8:
        order.append(next(v for v in near[order[-1]] if v != order[-2]))
    lost = {order[0]: "masked", order[4]: "masked"}
    with pytest.raises(TooFew, match="hang together"):
        simulate(values, neighbours=2, threshold=2, lost=lost, simulation_rng=rng())
    del lost[order[4]]
    total, _ = simulate(values, neighbours=2, threshold=2, lost=lost, simulation_rng=rng())
    assert np.isclose(total.mean[0], np.mean([u for u in values if u != order[0]]))


def test_a_sum_of_fewer_than_the_least_is_given_up():
    values = {u: [1.0] for u in range(6)}
    simulate(values, threshold=4, least=5, lost={0: "masked"})
    with pytest.raises(TooFew, match="4 clients sent their masked vectors; at least 5"):
        simulate(values, threshold=4, least=5, lost={0: "masked", 1: "masked"})


@pytest.mark.parametrize("size", [0, 1])
def test_nobody_hides_alone(size):
    with pytest.raises(TooFew, match=f"a group of {size}"):
        Terms(clients=tuple(range(size)), values=1)


@pytest.mark.parametrize(
    ("terms", "reason"),
    [
        ({"threshold": 5}, "threshold is 5"),
        ({"threshold": 2}, "more than half"),
        ({"levels": 2**31}, "32 bits"),
        ({"values": 0}, "0 values"),
        ({"max_weight": 0.0}, "above 0"),
        ({"noise": 1.0}, "no noise without norm"),
    ],
)
def test_terms_under_which_the_sum_is_wrong_or_shows_too_much_are_refused(terms, reason):
    with pytest.raises(BadValue, match=reason):
        Session(Terms(**{"clients": (0, 1, 2, 3), "values": 1, **terms}))


@pytest.mark.parametrize("neighbours", ["some", 3])
def test_a_number_of_neighbours_that_makes_no_ring_is_refused(neighbours):
    with pytest.raises(BadValue, match="neighbours"):
        Session(Terms(clients=tuple(range(9)), values=1, neighbours=neighbours))


class TestBadClients:
    """What one client does wrong is refused with the reason, and the sum goes on without it."""

    values = {u: [float(u), 1.0] for u in range(5)}

    def opened(self, **terms):
        session = Session(Terms(clients=tuple(self.values), values=2, **terms), simulation_rng=rng())
        session.open()
        return session

    def close(self, session, clients):
        for u in clients:
            session.add(u, self.values[u])
        total = session.close()
        assert total.clients == tuple(clients)
        assert np.allclose(total.mean, np.mean([self.values[u] for u in clients], axis=0), atol=1e-7)
        return session.server.refused

    def test_a_vector_of_the_wrong_length(self):
        session = self.opened()
        with pytest.raises(Refused, match="client 0 sent 9 words; expected were 4"):
            session.server.receive(0, self.forged(session, 0, 9))
        assert self.close(session, [1, 2, 3, 4]) == [(0, "client 0 sent 9 words; expected were 4")]

    def test_a_client_that_sends_twice(self):
        session = self.opened()
        data = session.clients[0].mask(session._lists[0], self.values[0])
        session.server.receive(0, data)
        with pytest.raises(Refused, match="already"):
            session.server.receive(0, data)
        self.close_others(session)

    def close_others(self, session):
        for u in (1, 2, 3, 4):
            session.add(u, self.values[u])
        assert np.allclose(session.close().mean, np.mean(list(self.values.values()), axis=0), atol=1e-7)

    def test_a_client_in_the_name_of_another(self):
        session = self.opened()
        with pytest.raises(Refused, match="in the name of client 1"):
            session.server.receive(0, self.forged(session, 1, 4))
        with pytest.raises(Refused, match="not invited"):
            session.server.receive(77, self.forged(session, 77, 4))
        self.close(session, [0, 1, 2, 3, 4])

    def test_a_replay_from_an_earlier_session(self):
        old, session = self.opened(), self.opened()
        session.server.session = bytes(16)
        with pytest.raises(Refused, match="another session"):
            session.server.receive(0, old.clients[0].mask(old._lists[0], self.values[0]))

    def test_a_message_of_another_round(self):
        session = self.opened()
        stray = Client(0, entropy=rng(9).bytes).join(session.server.invite()[0])
        with pytest.raises(Refused, match="expected was Masked"):
            session.server.receive(0, stray)
        self.close(session, [0, 1, 2, 3, 4])

    def test_weights_and_values_that_cannot_be_added_up(self):
        session = self.opened()
        lists, client = session._lists, session.clients[0]
        for values, weight, reason in (
            ([1.0], 1.0, "shape"),
            ([1.0, np.nan], 1.0, "finite"),
            ([1.0, 1.0], 0.0, "weight"),
            ([1.0, 1.0], 2.0, "at most 1"),
        ):
            with pytest.raises(Refused, match=reason):
                client.mask(lists[0], values, weight)
        self.close(session, [0, 1, 2, 3, 4])  # what was refused has changed nothing

    def test_keys_that_are_none_or_anothers(self):
        from covey.secure.messages import Keys

        session = Session(Terms(clients=tuple(self.values), values=2), simulation_rng=rng())
        server = session.server
        invitations = server.invite()
        good = Client(0, entropy=rng(3).bytes).join(invitations[0])
        server.receive(0, good)
        keys = Keys.from_bytes(good)
        for sealing, masking, reason in (
            (bytes(32), b"k" * 32, "X25519"),
            (b"short", b"k" * 32, "X25519"),
            (keys.sealing, b"k" * 32, "in use"),
            (b"k" * 32, b"k" * 32, "in use"),
        ):
            forged = Keys(session=server.session, sender=1, sealing=sealing, masking=masking)
            with pytest.raises(Refused, match=reason):
                server.receive(1, forged.to_bytes())

    def test_a_false_share_is_found_out(self):
        """Client 4 answers with shares of its own making; those of the other four are enough."""
        from covey.secure.messages import Unmasking

        session = self.opened()
        for u in self.values:
            session.add(u, self.values[u])
        server = session.server
        for u, request in server.close_masked().items():
            answer = Unmasking.from_bytes(session.clients[u].unmask(request))
            if u == 4:
                answer = Unmasking(
                    session=answer.session,
                    sender=4,
                    self_masks={v: bytes(len(share)) for v, share in answer.self_masks.items()},
                    masking_keys=answer.masking_keys,
                )
            server.receive(u, answer.to_bytes())
        assert np.allclose(server.result().mean, np.mean(list(self.values.values()), axis=0), atol=1e-7)

    def test_shares_that_were_not_asked_for(self):
        from covey.secure.messages import Unmasking

        session = self.opened()
        for u in (0, 1, 2, 3):
            session.add(u, self.values[u])
        session.server.close_masked()
        for part in ({"self_masks": {4: bytes(36)}}, {"masking_keys": {1: bytes(36)}}):
            given = {"self_masks": {}, "masking_keys": {}, **part}
            answer = Unmasking(session=session.server.session, sender=0, **given)
            with pytest.raises(Refused, match="not asked for"):
                session.server.receive(0, answer.to_bytes())

    def test_tampered_shares_are_not_used(self):
        """The server garbles what client 0 has for client 1: client 1 says so, the others' shares are enough."""
        from covey.secure.messages import ShareList

        session = self.opened()
        real = ShareList.from_bytes(session._lists[1])
        garbled = bytes([real.sealed[0][0] ^ 1]) + real.sealed[0][1:]
        session._lists[1] = ShareList(session=real.session, sealed={**real.sealed, 0: garbled}).to_bytes()
        self.close(session, [0, 1, 2, 3, 4])
        assert session.clients[1].unreadable == {0: "its sealed shares were tampered with"}

    def test_too_many_tampered_shares_end_the_session(self):
        from covey.secure.messages import ShareList

        session = self.opened()
        for u in (1, 2):
            real = ShareList.from_bytes(session._lists[u])
            session._lists[u] = ShareList(session=real.session, sealed={**real.sealed, 0: bytes(100)}).to_bytes()
        for u in self.values:
            session.add(u, self.values[u])
        with pytest.raises(TooFew, match="the secret of client 0 is lost: 3 shares, of which 4 true ones"):
            session.close()

    def forged(self, session, sender, words):
        vector = np.zeros(words, dtype=np.uint32)
        return Masked(session=session.server.session, sender=sender, vector=vector).to_bytes()


class TestNoise:
    def test_each_client_adds_its_share_and_values_are_cut_to_the_norm(self):
        drawn = rng()
        values = {u: drawn.normal(size=2000) for u in range(6)}
        total, _ = simulate(values, norm=1.0, noise=0.5, clip=6.0, simulation_rng=rng())
        plain = sum(own / np.linalg.norm(own) for own in values.values())
        noise = total.values - plain
        # six shares of 0.5^2 each: 0.5 x sqrt(6) = 1.2247
        assert abs(noise.std() / (0.5 * np.sqrt(6)) - 1) < 0.08
        assert abs(noise.mean()) < 0.15
        assert total.weight == 6

    def test_noise_comes_before_the_mask(self):
        """Two sessions that differ in the noise's seed only would have the same sum without it."""
        values = {u: np.zeros(50) for u in range(3)}
        sums = [simulate(values, norm=1.0, noise=0.1, clip=2.0, simulation_rng=rng(s))[0].values for s in (1, 2)]
        assert (sums[0] != sums[1]).any()
        assert np.abs(sums[0]).max() < 2
