// halo_warp.h -- warp operations: __syncwarp, shuffles, votes, matches and reductions
//
// Each is built on one meeting of the lanes in its mask (native/warp.h). __builtin_LINE() is the line of the call in the kernel.
#pragma once
#include "halo_math.h"

extern "C" {
void halo_syncwarp(unsigned mask, std::uint32_t line);
// Every lane of `mask` hands over `bytes` (at most 4096); when all of them that have not exited are there, each gets all[32 * bytes], by
// lane (zeros where a lane takes no part), and the set that took part.
void halo_warp_exchange(unsigned mask, std::uint32_t line, const void* mine, std::size_t bytes, void* all, unsigned* participants);
unsigned halo_activemask();
unsigned halo_lane();
void halo_report_lane(unsigned lane, std::uint32_t line);    // this lane reads what a lane without a part would have handed over
}

namespace halo {
constexpr unsigned all_lanes = 0xffffffffu;

template <class T> struct Warp {
    T values[32];
    unsigned participants;
};
template <class T> HALO_INLINE void exchange(unsigned mask, std::uint32_t line, const T& mine, Warp<T>& warp) {
    halo_warp_exchange(mask, line, &mine, sizeof(T), warp.values, &warp.participants);
}
// The value of lane `source`; what an absent lane gives is undefined on a GPU: here all bits are set, NaN as a float.
template <class T> HALO_INLINE T value_of_lane(const Warp<T>& warp, unsigned source, std::uint32_t line) {
    if (warp.participants >> source & 1) return warp.values[source];
    halo_report_lane(source, line);
    T poison;
    __builtin_memset(static_cast<void*>(&poison), 0xff, sizeof poison);
    return poison;
}
// `source` as PTX's shfl defines it: lanes are in segments of `width`, and a source outside the segment gives the lane's own value.
enum class Shuffle { index, up, down, exclusive_or };
template <Shuffle how, class T> HALO_INLINE T shuffle(unsigned mask, T mine, int operand, int width, std::uint32_t line) {
    Warp<T> warp;
    exchange(mask, line, mine, warp);
    int lane = static_cast<int>(halo_lane()), first = lane & ~(width - 1), last = first + width - 1;
    int source = how == Shuffle::index ? first | (operand & (width - 1))
                 : how == Shuffle::up  ? lane - operand
                 : how == Shuffle::down ? lane + operand
                                        : lane ^ operand;
    if ((how == Shuffle::up && source < first) || (how != Shuffle::up && source > last)) source = lane;
    return value_of_lane(warp, static_cast<unsigned>(source), line);
}
template <class T, class Combine> HALO_INLINE T reduce(unsigned mask, T mine, std::uint32_t line, Combine combine) {
    Warp<T> warp;
    exchange(mask, line, mine, warp);
    T result = mine;
    for (int lane = 0; lane < 32; ++lane)
        if (warp.participants >> lane & 1 && lane != static_cast<int>(halo_lane())) result = combine(result, warp.values[lane]);
    return result;
}
}    // namespace halo

HALO_INLINE void __syncwarp(unsigned mask = halo::all_lanes, std::uint32_t line = __builtin_LINE()) { halo_syncwarp(mask, line); }
HALO_INLINE unsigned __activemask() { return halo_activemask(); }

#define HALO_SHUFFLE(NAME, HOW, OPERAND)                                                                                      \
    template <class T> HALO_INLINE T NAME(unsigned mask, T value, OPERAND operand, int width = 32, std::uint32_t line = __builtin_LINE()) { \
        return halo::shuffle<halo::Shuffle::HOW>(mask, value, static_cast<int>(operand), width, line);                        \
    }
HALO_SHUFFLE(__shfl_sync, index, int)
HALO_SHUFFLE(__shfl_up_sync, up, unsigned)
HALO_SHUFFLE(__shfl_down_sync, down, unsigned)
HALO_SHUFFLE(__shfl_xor_sync, exclusive_or, int)

HALO_INLINE unsigned __ballot_sync(unsigned mask, int predicate, std::uint32_t line = __builtin_LINE()) {
    halo::Warp<unsigned char> warp;
    halo::exchange(mask, line, static_cast<unsigned char>(predicate != 0), warp);
    unsigned votes = 0;
    for (int lane = 0; lane < 32; ++lane) votes |= static_cast<unsigned>(warp.values[lane]) << lane;
    return votes & warp.participants;
}
HALO_INLINE int __any_sync(unsigned mask, int predicate, std::uint32_t line = __builtin_LINE()) {
    return __ballot_sync(mask, predicate, line) != 0;
}
HALO_INLINE int __all_sync(unsigned mask, int predicate, std::uint32_t line = __builtin_LINE()) {
    return __ballot_sync(mask, !predicate, line) == 0;
}
template <class T> HALO_INLINE unsigned __match_any_sync(unsigned mask, T value, std::uint32_t line = __builtin_LINE()) {
    halo::Warp<T> warp;
    halo::exchange(mask, line, value, warp);
    unsigned same = 0;
    for (int lane = 0; lane < 32; ++lane)
        same |= static_cast<unsigned>(__builtin_memcmp(&warp.values[lane], &value, sizeof value) == 0) << lane;
    return same & warp.participants;
}
template <class T> HALO_INLINE unsigned __match_all_sync(unsigned mask, T value, int* all_match, std::uint32_t line = __builtin_LINE()) {
    halo::Warp<T> warp;
    halo::exchange(mask, line, value, warp);
    bool same = true;
    for (int lane = 0; lane < 32; ++lane)
        same &= !(warp.participants >> lane & 1) || __builtin_memcmp(&warp.values[lane], &value, sizeof value) == 0;
    *all_match = same;
    return same ? warp.participants : 0;
}

#define HALO_REDUCE(NAME, EXPRESSION)                                                                                         \
    template <class T> HALO_INLINE T NAME(unsigned mask, T value, std::uint32_t line = __builtin_LINE()) {                   \
        static_assert(std::is_integral_v<T>, #NAME " takes integers");                                                        \
        return halo::reduce(mask, value, line, [](T a, T b) -> T { return EXPRESSION; });                                    \
    }
HALO_REDUCE(__reduce_add_sync, a + b)
HALO_REDUCE(__reduce_min_sync, b < a ? b : a)
HALO_REDUCE(__reduce_max_sync, a < b ? b : a)
HALO_REDUCE(__reduce_and_sync, a & b)
HALO_REDUCE(__reduce_or_sync, a | b)
HALO_REDUCE(__reduce_xor_sync, a ^ b)
