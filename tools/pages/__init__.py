"""The documentation site: pages made from the code, and links that lead somewhere."""
