"""How much of each resource a GPU gives in a second."""
