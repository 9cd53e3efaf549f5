"""covey: group-based federated learning. A round is a plan, a small tree of stars, rings, meshes and forests."""
