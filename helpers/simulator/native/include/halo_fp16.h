// halo_fp16.h -- __half and __half2, what cuda_fp16.h declares
//
// Arithmetic rounds once, to the nearest value (ties to even), and keeps subnormals, as a GPU's does. A NaN result is 0x7FFF. Functions such
// as hexp are rounded from a double: a GPU's may differ in the last bit.
#pragma once
#include "halo_rounding.h"

extern "C++" {
#define HALO_TYPE __half
#define HALO_PAIR __half2
#define HALO_RAW __half_raw
#define HALO_RAW_PAIR __half2_raw
#define HALO_NAME half
#define HALO_FORMAT halo::HalfFormat
#include "halo_narrow.h"

HALO_INLINE __half2 __half2half2(__half value) { return __half2(value, value); }

using half = __half;
using half2 = __half2;
using nv_half = __half;
using nv_half2 = __half2;
using __nv_half = __half;
using __nv_half2 = __half2;
}

#define CUDART_INF_FP16 __ushort_as_half(0x7C00u)
#define CUDART_NAN_FP16 __ushort_as_half(0x7FFFu)
#define CUDART_MAX_NORMAL_FP16 __ushort_as_half(0x7BFFu)
#define CUDART_MIN_DENORM_FP16 __ushort_as_half(0x0001u)
#define CUDART_ZERO_FP16 __ushort_as_half(0x0000u)
#define CUDART_NEG_ZERO_FP16 __ushort_as_half(0x8000u)
#define CUDART_ONE_FP16 __ushort_as_half(0x3C00u)
