"""The LeNet: `network` in NumPy, `pipeline` and `pooled` on a device, its `checks` and `times`."""
