"""Who runs a plan: the walk that gives nodes their meaning, and the executors that answer it."""
