"""Lab 402: the inverse of a Fourier transform, and a convolution by overlap-add."""

LAB = "402_fft_overlap_add"
