"""The LeNet: in NumPy (`network`), on a device (`pipeline`, `pooled`), its check (`checks`), its times."""
