// pycuda-helpers.hpp -- what PyCUDA programs include for complex numbers; its texture helpers need
// a GPU
#pragma once
#include <pycuda-complex.hpp>
