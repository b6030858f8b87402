"""The exercises on half precision."""

LAB = "300_half_precision"
