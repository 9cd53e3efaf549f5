from covey.plan import Forest, Mesh, Ring, Star, Train, client, edge
from covey.report.tree import tree


def shapes(plan, kind, colour):
    return [shape for shape in tree(plan).shapes if (shape.kind, shape.colour) == (kind, colour)]


def texts(plan):
    return [shape.look["text"] for shape in tree(plan).shapes if shape.kind == "text"]


def test_a_star_joins_every_client_to_its_place():
    plan = Star([Train(0), Train(1), Train(2)], rounds=2, at=edge(4))
    assert len(shapes(plan, "circle", "client")) == 3
    assert len(shapes(plan, "line", "idle")) == 3
    assert {"edge 4", "star: 3 meet, 2 times", "0", "1", "2"} <= set(texts(plan))


def test_a_ring_is_a_chain_of_arrows():
    plan = Ring(Train(i) for i in range(9))
    assert len(shapes(plan, "line", "send")) == 8
    assert len(shapes(plan, "area", "send")) == 8


def test_heads_of_a_mesh_are_joined_as_its_links_say():
    plan = Mesh([Star([Train(i), Train(i + 1)], at=client(i)) for i in (0, 2, 4)], links=[(0, 1), (1, 2)])
    assert len(shapes(plan, "line", "meet")) == 2
    assert len(shapes(plan, "circle", "edge")) == 6  # three heads, again over the links


def test_nobody_is_joined_in_a_forest():
    plan = Forest([Train(0), Train(1)])
    assert not [shape for shape in tree(plan).shapes if shape.kind == "line"]


def test_what_is_too_much_is_counted():
    assert "+70" in texts(Star(Train(i) for i in range(100)))
    assert "+76" in texts(Star(Star([Train(i)]) for i in range(100)))


def test_boxes_hold_what_is_inside():
    plan = Star([Star([Ring([Train(0), Train(1)]), Ring([Train(2)])], at=edge(0)), Train(3)])
    drawn = tree(plan)
    for shape in drawn.shapes:
        assert all(0 <= x <= drawn.width and 0 <= y <= drawn.height for x, y in shape.points)
