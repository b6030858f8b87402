"""Lab 401: a sum over channels by a tree in shared memory, and a sum over taps by shuffles."""

LAB = "401_conv2d_channel_reduction"
