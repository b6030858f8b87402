// halo_cuda.h -- the CUDA C++ that a kernel sees in the simulator; included before its first line
#pragma once
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <type_traits>
#include <utility>

#define __CUDACC__ 1
#define __CUDA_ARCH__ 900
#define __global__ __attribute__((noinline))
#define __device__
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __shared__ static thread_local __attribute__((used))
#define __constant__ __attribute__((section("halo_constant"), used))
#define __restrict__ __restrict
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))
#define __grid_constant__

extern "C" {
std::uint32_t halo_thread_index(int axis) __attribute__((const));
std::uint32_t halo_block_index(int axis) __attribute__((const));
std::uint32_t halo_block_dim(int axis) __attribute__((const));
std::uint32_t halo_grid_dim(int axis) __attribute__((const));
void* halo_dynamic_shared();
void halo_syncthreads(std::uint32_t line);
}

struct uint3 { unsigned x, y, z; };
struct dim3 {
    unsigned x, y, z;
    constexpr dim3(unsigned vx = 1, unsigned vy = 1, unsigned vz = 1) : x(vx), y(vy), z(vz) {}
    constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
};
#define threadIdx (uint3{halo_thread_index(0), halo_thread_index(1), halo_thread_index(2)})
#define blockIdx (uint3{halo_block_index(0), halo_block_index(1), halo_block_index(2)})
#define blockDim (dim3(halo_block_dim(0), halo_block_dim(1), halo_block_dim(2)))
#define gridDim (dim3(halo_grid_dim(0), halo_grid_dim(1), halo_grid_dim(2)))
constexpr int warpSize = 32;

#define __syncthreads() halo_syncthreads(__LINE__)

#include "halo_vectors.h"

// min, max and the fast intrinsics, with CUDA's overloads
inline int min(int a, int b) { return a < b ? a : b; }
inline unsigned min(unsigned a, unsigned b) { return a < b ? a : b; }
inline long long min(long long a, long long b) { return a < b ? a : b; }
inline unsigned long long min(unsigned long long a, unsigned long long b) { return a < b ? a : b; }
inline long min(long a, long b) { return a < b ? a : b; }
inline unsigned long min(unsigned long a, unsigned long b) { return a < b ? a : b; }
inline unsigned min(int a, unsigned b) { return min(static_cast<unsigned>(a), b); }
inline unsigned min(unsigned a, int b) { return min(a, static_cast<unsigned>(b)); }
inline float min(float a, float b) { return std::fmin(a, b); }
inline double min(double a, double b) { return std::fmin(a, b); }
inline int max(int a, int b) { return a > b ? a : b; }
inline unsigned max(unsigned a, unsigned b) { return a > b ? a : b; }
inline long long max(long long a, long long b) { return a > b ? a : b; }
inline unsigned long long max(unsigned long long a, unsigned long long b) { return a > b ? a : b; }
inline long max(long a, long b) { return a > b ? a : b; }
inline unsigned long max(unsigned long a, unsigned long b) { return a > b ? a : b; }
inline unsigned max(int a, unsigned b) { return max(static_cast<unsigned>(a), b); }
inline unsigned max(unsigned a, int b) { return max(a, static_cast<unsigned>(b)); }
inline float max(float a, float b) { return std::fmax(a, b); }
inline double max(double a, double b) { return std::fmax(a, b); }

template <class T> inline T __ldg(const T* address) { return *address; }
inline float __fmaf_rn(float a, float b, float c) { return std::fma(a, b, c); }
inline float __fadd_rn(float a, float b) { return a + b; }
inline float __fmul_rn(float a, float b) { return a * b; }
inline float __fdividef(float a, float b) { return a / b; }
inline float __expf(float x) { return std::exp(x); }
inline float __logf(float x) { return std::log(x); }
inline float __sinf(float x) { return std::sin(x); }
inline float __cosf(float x) { return std::cos(x); }
inline float __saturatef(float x) { return x < 0.0f ? 0.0f : x > 1.0f ? 1.0f : x; }
inline float rsqrtf(float x) { return 1.0f / std::sqrt(x); }

// How the engine calls a kernel: arguments lie one after another in a buffer, each at its natural alignment, as CUDA packs them.
namespace halo {
struct Parameter { std::uint32_t size, offset, is_pointer, is_floating; };
template <class... A> struct Signature {
    static constexpr std::size_t count = sizeof...(A);
    Parameter parameters[count + 1] = {};
    constexpr Signature() {
        constexpr std::size_t sizes[] = {sizeof(A)..., 1}, alignments[] = {alignof(A)..., 1};
        constexpr bool pointers[] = {std::is_pointer_v<A>..., false}, floating[] = {std::is_floating_point_v<A>..., false};
        std::size_t offset = 0;
        for (std::size_t i = 0; i < count; ++i) {
            offset = (offset + alignments[i] - 1) / alignments[i] * alignments[i];
            parameters[i] = {std::uint32_t(sizes[i]), std::uint32_t(offset), pointers[i], floating[i]};
            offset += sizes[i];
        }
    }
};
template <class... A, std::size_t... I>
__attribute__((no_sanitize("thread"), no_sanitize_coverage)) void call(void (*kernel)(A...), const char* buffer, std::index_sequence<I...>) {
    constexpr Signature<A...> signature;
    kernel(*reinterpret_cast<const std::remove_cv_t<A>*>(buffer + signature.parameters[I].offset)...);
}
template <class... A>
__attribute__((no_sanitize("thread"), no_sanitize_coverage)) void call(void (*kernel)(A...), const char* buffer) {
    call(kernel, buffer, std::index_sequence_for<A...>{});
}
template <class... A> std::size_t describe(void (*)(A...), Parameter* out) {
    constexpr Signature<A...> signature;
    for (std::size_t i = 0; i < sizeof...(A); ++i) out[i] = signature.parameters[i];
    return sizeof...(A);
}
}    // namespace halo

#define HALO_KERNEL(name)                                                                                                  \
    extern "C" __attribute__((no_sanitize("thread"), no_sanitize_coverage)) void halo_call_##name(const char* b) { halo::call(&name, b); } \
    extern "C" std::size_t halo_describe_##name(halo::Parameter* p) { return halo::describe(&name, p); }

// Tells the engine where this library's thread-local block (its shared arrays) is in the calling thread.
static thread_local char halo_anchor;
extern "C" __attribute__((used, no_sanitize("thread"), no_sanitize_coverage)) inline void* halo_anchor_address() { return &halo_anchor; }
