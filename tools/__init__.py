"""Tools of the project's own: fuzzing, kills, mutants. None of them is part of what is installed."""
