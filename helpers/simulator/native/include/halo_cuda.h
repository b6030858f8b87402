// halo_cuda.h -- the CUDA C++ that a kernel sees in the simulator; included before its first line
#pragma once
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <type_traits>
#include <utility>

#define __CUDACC__ 1
#define __CUDA_ARCH__ 900
#define HALO_SIMULATOR 1    // for a source that has a form without inline PTX beside one with it
#define __global__ __attribute__((noinline))
#define __device__
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __shared__ static thread_local __attribute__((used))
// Each in a section of its own: one section cannot hold both const and other variables.
#define HALO_TEXT_OF(x) #x
#define HALO_CONSTANT(line) __attribute__((section("halo_constant_" HALO_TEXT_OF(line)), used))
#define __constant__ HALO_CONSTANT(__LINE__)
#define __restrict__ __restrict
// Before loops (unrolling.py): unroll them wholly where they have a known number of rounds, `n` at most. clang has a limit of its own.
#define HALO_PRAGMA(words) _Pragma(#words)
#if defined(__clang__)
#define HALO_UNROLL(n) HALO_PRAGMA(clang loop unroll(full))
#define HALO_UNROLL_ASKED(n)    // clang knows the `#pragma unroll` that stands before it, and takes no second one
#else
#define HALO_UNROLL(n) HALO_PRAGMA(GCC unroll n)
#define HALO_UNROLL_ASKED(n) HALO_UNROLL(n)
#endif
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
int halo_syncthreads_reduce(int operation, int predicate, std::uint32_t line);    // 0: count, 1: all, 2: any
int halo_printf(const char* format, ...) __attribute__((format(printf, 1, 2)));
void halo_assert_fail(const char* expression, const char* file, unsigned line);
void* __tsan_memcpy(void* to, const void* from, std::size_t bytes);    // seen by the engine, as are the next two
void* __tsan_memmove(void* to, const void* from, std::size_t bytes);
void* __tsan_memset(void* to, int value, std::size_t bytes);
}

#include "halo_vectors.h"
#include "halo_warp.h"
#include "halo_atomics.h"

struct dim3 {
    unsigned x, y, z;
    constexpr dim3(unsigned vx = 1, unsigned vy = 1, unsigned vz = 1) : x(vx), y(vy), z(vz) {}
    constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
    constexpr operator uint3() const { return {x, y, z}; }
};
#define threadIdx (uint3{halo_thread_index(0), halo_thread_index(1), halo_thread_index(2)})
#define blockIdx (uint3{halo_block_index(0), halo_block_index(1), halo_block_index(2)})
#define blockDim (dim3(halo_block_dim(0), halo_block_dim(1), halo_block_dim(2)))
#define gridDim (dim3(halo_grid_dim(0), halo_grid_dim(1), halo_grid_dim(2)))
constexpr int warpSize = 32;

#define __syncthreads() halo_syncthreads(__LINE__)
#define __syncthreads_count(predicate) halo_syncthreads_reduce(0, (predicate) != 0, __LINE__)
#define __syncthreads_and(predicate) halo_syncthreads_reduce(1, (predicate) != 0, __LINE__)
#define __syncthreads_or(predicate) halo_syncthreads_reduce(2, (predicate) != 0, __LINE__)

namespace std { using ::halo_printf, ::__tsan_memcpy, ::__tsan_memmove, ::__tsan_memset; }    // a kernel may write std::printf
#define printf halo_printf
#define memcpy __tsan_memcpy    // g++ has no instrumentation for the call
#define memmove __tsan_memmove
#define memset __tsan_memset
#define __trap() halo_assert_fail("__trap()", __FILE__, __LINE__)
#include "assert.h"

// How the engine calls a kernel: arguments lie one after another in a buffer, each at its natural alignment, as CUDA packs them.
namespace halo {
struct Parameter { std::uint32_t size, offset, is_pointer, is_floating, is_const, element_bytes; };    // the last two of what it points to
template <class T> constexpr std::uint32_t size_of_element() {
    if constexpr (std::is_pointer_v<T> && std::is_object_v<std::remove_pointer_t<T>>) return sizeof(std::remove_pointer_t<T>);
    return 0;
}
template <class... A> struct Signature {
    static constexpr std::size_t count = sizeof...(A);
    Parameter parameters[count + 1] = {};
    std::size_t bytes = 0;
    constexpr Signature() {
        constexpr Parameter types[] = {{sizeof(A), alignof(A), std::is_pointer_v<A>, halo::is_floating<A>,
                                        std::is_const_v<std::remove_pointer_t<A>>, size_of_element<A>()}..., {}};
        std::size_t offset = 0;
        for (std::size_t i = 0; i < count; ++i) {
            std::size_t alignment = types[i].offset;
            offset = (offset + alignment - 1) / alignment * alignment;
            parameters[i] = types[i];
            parameters[i].offset = static_cast<std::uint32_t>(offset);
            offset += types[i].size;
        }
        bytes = offset;
    }
};
// Given from a copy on the thread's own stack: what copies a struct may be instrumented, and knows no array at `buffer`.
template <class... A, std::size_t... I>
__attribute__((no_sanitize("thread"), no_sanitize_coverage)) void call(void (*kernel)(A...), const char* buffer, std::index_sequence<I...>) {
    constexpr Signature<A...> signature;
    alignas(64) char own[signature.bytes + 1];
    __builtin_memcpy(own, buffer, signature.bytes);
    kernel(*reinterpret_cast<const std::remove_cv_t<A>*>(own + signature.parameters[I].offset)...);
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

// One kernel of the source: its number there, its launch bounds (0: none), its address.
#define HALO_KERNEL(number, bounds, kernel)                                                                                           \
    extern "C" __attribute__((no_sanitize("thread"), no_sanitize_coverage)) void halo_call_##number(const char* halo_given) { halo::call(kernel, halo_given); } \
    extern "C" std::size_t halo_describe_##number(halo::Parameter* halo_given) { return halo::describe(kernel, halo_given); }                           \
    extern "C" const void* halo_address_##number() { return reinterpret_cast<const void*>(kernel); }                                  \
    extern "C" int halo_bounds_##number() { return static_cast<int>(bounds); }

// Tells the engine where this library's thread-local block (its shared arrays) is in the calling thread.
static thread_local char halo_anchor;
extern "C" __attribute__((used, no_sanitize("thread"), no_sanitize_coverage)) inline void* halo_anchor_address() { return &halo_anchor; }
