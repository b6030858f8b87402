// halo_bf16.h -- __nv_bfloat16 and __nv_bfloat162, what cuda_bf16.h declares
//
// Rounding as for __half (halo_fp16.h): once, to the nearest value, ties to even.
#pragma once
#include "halo_rounding.h"

extern "C++" {
#define HALO_TYPE __nv_bfloat16
#define HALO_PAIR __nv_bfloat162
#define HALO_RAW __nv_bfloat16_raw
#define HALO_RAW_PAIR __nv_bfloat162_raw
#define HALO_NAME bfloat16
#define HALO_FORMAT halo::BrainFormat
#include "halo_narrow.h"

HALO_INLINE __nv_bfloat162 __bfloat162bfloat162(__nv_bfloat16 value) { return __nv_bfloat162(value, value); }

using nv_bfloat16 = __nv_bfloat16;
using nv_bfloat162 = __nv_bfloat162;
}

#define CUDART_INF_BF16 __ushort_as_bfloat16(0x7F80u)
#define CUDART_NAN_BF16 __ushort_as_bfloat16(0x7FFFu)
#define CUDART_MAX_NORMAL_BF16 __ushort_as_bfloat16(0x7F7Fu)
#define CUDART_MIN_DENORM_BF16 __ushort_as_bfloat16(0x0001u)
#define CUDART_ZERO_BF16 __ushort_as_bfloat16(0x0000u)
#define CUDART_NEG_ZERO_BF16 __ushort_as_bfloat16(0x8000u)
#define CUDART_ONE_BF16 __ushort_as_bfloat16(0x3F80u)
