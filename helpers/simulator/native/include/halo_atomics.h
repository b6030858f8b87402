// halo_atomics.h -- atomic operations and fences
#pragma once
#include "halo_math.h"

extern "C" {
// The old value of `bytes` (2, 4 or 8) at `address`; type: 0 signed, 1 unsigned, 2 floating point, plus 16 for an atomic that is one
// only to the threads of its block (_block). Operations: halo::Atomic.
std::uint64_t halo_atomic(int operation, void* address, std::size_t bytes, std::uint64_t operand, std::uint64_t compare, int type);
// The same for an operation of the caller's: combine(old, operand) gives the new bits.
std::uint64_t halo_atomic_update(void* address, std::size_t bytes, std::uint64_t operand,
                                 std::uint64_t (*combine)(std::uint64_t old, std::uint64_t operand));
void halo_threadfence();
std::uint64_t halo_clock64();
}

namespace halo {
enum class Atomic { add, sub, exchange, min, max, inc, dec, and_, or_, xor_, compare_and_swap };

template <class T> HALO_INLINE std::uint64_t to_word(T value) {
    std::uint64_t word = 0;
    __builtin_memcpy(&word, &value, sizeof value);
    return word;
}
template <class T> HALO_INLINE T from_word(std::uint64_t word) {
    T value;
    __builtin_memcpy(static_cast<void*>(&value), &word, sizeof value);
    return value;
}
constexpr int within_block = 16, within_device = 0;
template <class T> HALO_INLINE T atomic(Atomic operation, int scope, T* address, same<T> operand, same<T> compare = T()) {
    constexpr int type = std::is_floating_point_v<T> ? 2 : std::is_unsigned_v<T> ? 1 : 0;
    return from_word<T>(halo_atomic(static_cast<int>(operation), address, sizeof(T), to_word(operand), to_word(compare), type + scope));
}
}    // namespace halo

// CUDA has these types and no others. There is one device, so that _system is the same as the plain form.
#define HALO_ATOMIC_ONE(NAME, SCOPE, OPERATION, T) \
    HALO_INLINE T NAME(T* address, T value) { return halo::atomic(halo::Atomic::OPERATION, halo::SCOPE, address, value); }
#define HALO_ATOMIC(NAME, OPERATION, T)                         \
    HALO_ATOMIC_ONE(NAME, within_device, OPERATION, T)          \
    HALO_ATOMIC_ONE(NAME##_block, within_block, OPERATION, T)   \
    HALO_ATOMIC_ONE(NAME##_system, within_device, OPERATION, T)
#define HALO_ATOMIC_WORDS(NAME, OPERATION) HALO_ATOMIC(NAME, OPERATION, int) HALO_ATOMIC(NAME, OPERATION, unsigned)
#define HALO_ATOMIC_LONG_WORDS(NAME, OPERATION) HALO_ATOMIC_WORDS(NAME, OPERATION) HALO_ATOMIC(NAME, OPERATION, unsigned long long)

HALO_ATOMIC_LONG_WORDS(atomicAdd, add)
HALO_ATOMIC(atomicAdd, add, float)
HALO_ATOMIC(atomicAdd, add, double)
HALO_ATOMIC_WORDS(atomicSub, sub)
HALO_ATOMIC_LONG_WORDS(atomicExch, exchange)
HALO_ATOMIC(atomicExch, exchange, float)
HALO_ATOMIC_LONG_WORDS(atomicMin, min)
HALO_ATOMIC(atomicMin, min, long long)
HALO_ATOMIC_LONG_WORDS(atomicMax, max)
HALO_ATOMIC(atomicMax, max, long long)
HALO_ATOMIC(atomicInc, inc, unsigned)
HALO_ATOMIC(atomicDec, dec, unsigned)
HALO_ATOMIC_LONG_WORDS(atomicAnd, and_)
HALO_ATOMIC_LONG_WORDS(atomicOr, or_)
HALO_ATOMIC_LONG_WORDS(atomicXor, xor_)

#define HALO_SWAP_ONE(NAME, SCOPE, T)                                                                    \
    HALO_INLINE T NAME(T* address, T compare, T value) {                                                 \
        return halo::atomic(halo::Atomic::compare_and_swap, halo::SCOPE, address, value, compare);       \
    }
#define HALO_SWAP(T)                              \
    HALO_SWAP_ONE(atomicCAS, within_device, T)    \
    HALO_SWAP_ONE(atomicCAS_block, within_block, T) \
    HALO_SWAP_ONE(atomicCAS_system, within_device, T)
HALO_SWAP(int)
HALO_SWAP(unsigned)
HALO_SWAP(unsigned long long)
HALO_SWAP(unsigned short)

HALO_INLINE void __threadfence() { halo_threadfence(); }
HALO_INLINE void __threadfence_block() { halo_threadfence(); }
HALO_INLINE void __threadfence_system() { halo_threadfence(); }

// A counter of its own calls: the simulator has no time, so a difference of two readings says nothing of a kernel's speed.
HALO_INLINE long long clock64() { return static_cast<long long>(halo_clock64()); }
HALO_INLINE long clock() { return static_cast<long>(halo_clock64()); }
HALO_INLINE void __nanosleep(unsigned) {}
