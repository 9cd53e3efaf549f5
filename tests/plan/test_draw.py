from covey.plan import Forest, Mesh, Ring, Star, Train, client, edge


def test_a_tree_of_everything():
    plan = Star(
        [
            Ring([Train(0), Star([Train(1), Train(2, epochs=3)], rounds=2, at=edge(4))]),
            Mesh([Train(3), Train(4)], [(0, 1)], at=client(3)),
            Forest([Train(5, rate=0.5)]),
        ],
        weights=[1, 2, 3],
        merge="ida",
    )
    assert str(plan).splitlines() == [
        "Star at cloud, own weights, merged by ida",
        "├─ Ring",
        "│  ├─ Train 0",
        "│  └─ Star at edge 4, 2 rounds",
        "│     ├─ Train 1",
        "│     └─ Train 2, 3 epochs",
        "├─ Mesh linked 0-1",
        "│  └─ Train 3, 4",
        "└─ Forest",
        "   └─ Train 5, rate x0.5",
    ]


def test_a_single_node():
    assert str(Train(7, epochs=1)) == "Train 7, 1 epoch"
    assert str(Mesh([Train(1)], [])) == "Mesh linked to nobody\n└─ Train 1"


def test_many_who_train_alike_share_a_short_line():
    assert str(Star(Train(i) for i in range(12))).splitlines()[1] == "└─ Train 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11"
    assert str(Star(Train(i) for i in range(100))).splitlines() == [
        "Star at cloud",
        "└─ Train 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, … 99 (100 clients)",
    ]


def test_print_shows_the_tree_and_repr_the_nodes():
    plan = Ring([Train(0), Train(1)])
    assert f"{plan}" == "Ring\n└─ Train 0, 1"
    assert repr(plan).startswith("Ring(children=(Train(client=0")
