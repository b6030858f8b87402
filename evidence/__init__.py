"""What makes the records of data/measured, and their tables: `make evidence` runs its tests."""
