"""The LeNet: `network` computes it in NumPy, `pipeline` on a device, `times` measures it."""
