"""The mistakes of sum_in_y."""

from helpers.exercises.unrolling.conv2d_unrolled.mutants import PRODUCT

MUTANTS = PRODUCT
