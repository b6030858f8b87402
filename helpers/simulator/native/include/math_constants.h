// math_constants.h -- the constants of CUDA's header of this name
#pragma once
#include "halo_math.h"

#define CUDART_INF_F __int_as_float(0x7F800000)
#define CUDART_NAN_F __int_as_float(0x7FFFFFFF)
#define CUDART_MIN_DENORM_F __int_as_float(0x00000001)
#define CUDART_MAX_NORMAL_F __int_as_float(0x7F7FFFFF)
#define CUDART_ZERO_F 0.0f
#define CUDART_NEG_ZERO_F __int_as_float(static_cast<int>(0x80000000u))
#define CUDART_ONE_F 1.0f
#define CUDART_SQRT_HALF_F 0.707106781F
#define CUDART_SQRT_TWO_F 1.414213562F
#define CUDART_PI_F 3.141592654F
#define CUDART_PIO2_F 1.570796327F
#define CUDART_PIO4_F 0.785398163F
#define CUDART_2_OVER_PI_F 0.636619772F
#define CUDART_LOG2E_F 1.442695041F
#define CUDART_LN2_F 0.693147181F
#define CUDART_LNT_F 2.302585093F
#define CUDART_INF __longlong_as_double(0x7FF0000000000000)
#define CUDART_NAN __longlong_as_double(static_cast<long long>(0xFFF8000000000000))
#define CUDART_MIN_DENORM __longlong_as_double(0x0000000000000001)
#define CUDART_ZERO 0.0
#define CUDART_NEG_ZERO __longlong_as_double(static_cast<long long>(0x8000000000000000))
#define CUDART_ONE 1.0
#define CUDART_SQRT_TWO 1.4142135623730951
#define CUDART_SQRT_HALF 0.70710678118654757
#define CUDART_PI 3.1415926535897931
#define CUDART_PIO2 1.5707963267948966
#define CUDART_PIO4 0.78539816339744828
#define CUDART_LN2 0.69314718055994529
#define CUDART_L2E 1.4426950408889634
