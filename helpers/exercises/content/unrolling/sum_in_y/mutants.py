"""The mistakes of sum_in_y."""

from helpers.exercises.content.unrolling.conv2d_unrolled.mutants import PRODUCT

MUTANTS = PRODUCT
